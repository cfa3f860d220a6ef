#!lua
-- Grants calls one by one. The instant of an admission is the time of this script.
--
-- KEYS: the allowance's hash, the window's list, the window's leases, the tenant's mark.
-- ARGV: incarnation, number, last number that is known to be stored, calls a minute, calls that want,
-- whether each takes a unit of the window, whether each takes one of the allowance, limit of the
-- allowance, units charged and held by this incarnation, begin and end of the allowance in
-- milliseconds, length of a lease, life of the server.
-- Answers: status, instant, granted, calls in the window, milliseconds until the next unit of it
-- frees, units of other incarnations, number that is stored.
local time=redis.call('TIME')
local now=time[1]*1000+math.floor(time[2]/1000)
local q,w,m,mark,mine=KEYS[1],KEYS[2],KEYS[3],KEYS[4],'s:'..ARGV[1]
local seq,last,per,want=tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])
local window,cost=ARGV[6]=='1',tonumber(ARGV[7])
local limit,base=tonumber(ARGV[8]),tonumber(ARGV[9])
local from,till,lease=tonumber(ARGV[10]),tonumber(ARGV[11]),tonumber(ARGV[12])

local h=redis.call('HMGET',q,'t',mine)
local life=ARGV[13]
local others,oseq,oclaim,ogranted,oat,olife=tonumber(h[1] or 0),0,0,0,0,''
if h[2] then
  local a,b,c,d,e=string.match(h[2],'(%d+) (%d+) (%d+) (%d+) (%w+)')
  oseq,oclaim,ogranted,oat,olife=tonumber(a),tonumber(b),tonumber(c),tonumber(d),e
end
others=others-oclaim

-- A repetition is a write, too: who waits for replicas has to wait for what was granted before. That
-- writes were lost is said again, too.
if oseq==seq and olife==life then
  redis.call('HSET',q,mine,h[2])
  if string.sub(h[2],-2)==' L' then return {5,oat,0,per,60000+lease,others,oseq} end
  return {3,oat,ogranted,redis.call('LLEN',w),60000,others,oseq}
end
if oseq>=seq then return {4,now,0,0,0,others,oseq} end
-- A server whose clock is ahead begins a day early by as much, and no more than five seconds.
if want>0 and (now<from-5000 or now>=till) then return {7,now,0,0,0,0,0} end

local keep=math.max(0,till-now)+172800000
if oseq<last then
  -- Acknowledged writes are gone: nobody knows what was granted in the last minute.
  redis.call('HSET',mark,'c',now+60000+lease)
  redis.call('PEXPIRE',mark,120000)
  redis.call('HSET',q,'t',others+base,mine,seq..' '..base..' 0 '..now..' '..life..' L')
  redis.call('PEXPIRE',q,keep)
  return {5,now,0,per,60000+lease,others,seq}
end

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
if v[1] and tonumber(v[1])>0 and now<tonumber(v[2])+lease+60000 then leased=tonumber(v[1]) end

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
    wait=v[2]+lease+60000-now
  elseif first then
    if per>0 and count>per then first=redis.call('LINDEX',w,count-per) end
    wait=60000-(now-first)
  end
end
return {status,now,granted,count+leased,wait,others,oseq}
