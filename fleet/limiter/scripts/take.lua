
-- Grants calls one by one. The instant of an admission is the time of this script. What a script costs is
-- its calls, so that a window that is empty is not looked into.
--
-- ARGV, further: whether each call takes a unit of the window, whether each takes one of the allowance.
local window,cost=ARGV[12]=='1',tonumber(ARGV[13])
local count=redis.call('LLEN',w)
local known=settled_before(count)
if known then return known end

local first,newest
if count>0 then
  -- Time never goes back behind what was granted.
  newest=redis.call('LINDEX',w,-1)
  if tonumber(newest)>now then now=tonumber(newest) end
  repeat
    -- Of a window that is in use, a unit frees for each that is taken.
    local two=redis.call('LRANGE',w,0,1)
    local over=0
    while two[over+1] and now-two[over+1]>=60000 do over=over+1 end
    if over>0 then redis.call('LPOP',w,over) end
    count=count-over
    first=two[over+1]
  until first or count<1
end

-- While the plan was above what is granted one by one, units were leased. Mostly nothing is there.
local leased,v,closed=0
if redis.call('EXISTS',m,mark)>0 then
  v=redis.call('HMGET',m,'sum','at')
  if v[1] and tonumber(v[1])>0 and now<tonumber(v[2])+ttl+60000 then leased=tonumber(v[1]) end
  closed=redis.call('HMGET',mark,'c')[1]
end

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
  -- Who pushed first in these 900 ms let it live for 61 s.
  if not newest or math.floor(newest/900)~=math.floor(now/900) then redis.call('PEXPIRE',w,61000) end
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
