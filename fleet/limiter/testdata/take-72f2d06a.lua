
-- Grants calls one by one. The instant of an admission is the time of this script.
--
-- ARGV, further: whether each call takes a unit of the window, whether each takes one of the allowance.
local window,cost=ARGV[12]=='1',tonumber(ARGV[13])
local known=settled_before(redis.call('LLEN',w))
if known then return known end

-- Time never goes back behind what was granted.
local newest=redis.call('LINDEX',w,-1)
if newest and tonumber(newest)>now then now=tonumber(newest) end
local first=redis.call('LINDEX',w,0)
while first and now-first>=60000 do
  redis.call('LPOP',w)
  first=redis.call('LINDEX',w,0)
end
local count=redis.call('LLEN',w)

-- While the plan was above what is granted one by one, units were leased.
local leased=0
local v=redis.call('HMGET',m,'sum','at')
if v[1] and tonumber(v[1])>0 and now<tonumber(v[2])+ttl+60000 then leased=tonumber(v[1]) end

local closed=redis.call('HMGET',mark,'c')[1]
local status,granted,wait=0,0,0
if want>0 then
  granted=want
  if window and per-count-leased<granted then
    granted=per-count-leased
    status=1
  end
  if cost>0 and limit-others-base<granted then
    granted=limit-others-base
    status=2
    if window and per-count-leased<1 then status=1 end
  end
  if window and closed and tonumber(closed)>now then
    granted=0
    status=6
    wait=closed-now
  end
  if granted<0 then granted=0 end
end

if granted>0 and window then
  for i=1,granted do redis.call('RPUSH',w,now) end
  redis.call('PEXPIRE',w,61000)
  if not first then first=now end
  count=count+granted
end
if granted>0 or base~=oclaim then
  local claim=base+granted*cost
  redis.call('HSET',q,'t',others+claim,mine,seq..' '..claim..' '..granted..' '..now..' '..life)
  if not h[1] then redis.call('PEXPIRE',q,keep) end
  oseq=seq
end

if status~=6 then
  if leased>0 and count+leased>=per then
    wait=v[2]+ttl+60000-now
  elseif first then
    if per>0 and count>per then first=redis.call('LINDEX',w,count-per) end
    wait=60000-(now-first)
  end
end
return {status,now,granted,count+leased,wait,others,oseq}
