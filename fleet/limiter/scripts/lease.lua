
-- Leases units of a window ahead, for plans whose calls are too many to be granted one by one. A unit
-- counts from the grant until a minute after the lease ends; settled ones, as used at their end.
--
-- KEYS, further: what leases of before have used.
-- ARGV, further: number of the lease that is settled, units used of it.
local past,own=KEYS[5],'l:'..ARGV[1]
local settled,used=tonumber(ARGV[12]),tonumber(ARGV[13])
local v=redis.call('HMGET',m,'sum','at','x',own)
local sum,at,x=tonumber(v[1] or 0),tonumber(v[2] or 0),tonumber(v[3] or 0)
if now<at then now=at end
local known=settled_before(sum)
if known then return known end

-- What is over leaves the window.
local e=redis.call('LINDEX',past,0)
while e do
  local frees,n=string.match(e,'(%d+) (%d+)')
  if tonumber(frees)>now then break end
  sum=sum-n
  redis.call('LPOP',past)
  e=redis.call('LINDEX',past,0)
end

-- Calls that were granted one by one while the plan was lower count as made with the last of them.
local newest=redis.call('LINDEX',w,-1)
if newest then
  if now-newest<60000 then
    local n=redis.call('LLEN',w)
    sum=sum+n
    redis.call('RPUSH',past,(newest+60000)..' '..n)
  end
  redis.call('DEL',w)
end

-- Leases of others that ended count as used at their end: in its order, for pairs come in none.
if x>0 and x<=now then
  local all=redis.call('HGETALL',m)
  local over={}
  x=0
  for i=1,#all,2 do
    if string.sub(all[i],1,2)=='l:' and all[i]~=own then
      local _,n,ends=string.match(all[i+1],'(%d+) (%d+) (%d+)')
      ends=tonumber(ends)
      if ends<=now then over[#over+1]={ends,n,all[i]}
      elseif x==0 or ends<x then x=ends end
    end
  end
  table.sort(over,function(a,b) return a[1]<b[1] or a[1]==b[1] and a[3]<b[3] end)
  for i=1,#over do
    redis.call('RPUSH',past,(over[i][1]+60000)..' '..over[i][2])
    redis.call('HDEL',m,over[i][3])
  end
end

-- The own lease before this one: of one whose answer was never seen, nobody knows the use.
if v[4] then
  local s,n,ends=string.match(v[4],'(%d+) (%d+) (%d+)')
  n,ends=tonumber(n),tonumber(ends)
  if tonumber(s)~=settled then used=n end
  if ends>now then ends=now end
  sum=sum-n+used
  if used>0 then redis.call('RPUSH',past,(ends+60000)..' '..used) end
end

local status,free,granted,wait=0,per-sum,0,0
local closed=redis.call('HMGET',mark,'c')[1]
if want>0 then
  if closed and tonumber(closed)>now then
    status=6
    wait=closed-now
  elseif free<1 then status=1
  elseif limit-others-base<1 then status=2
  else
    granted=math.min(want,math.max(1,math.floor(free/2)),math.max(1,math.floor((limit-others-base)/2)))
  end
end

local ends=now+ttl
if granted>0 then
  redis.call('HSET',m,'sum',sum+granted,'at',now,'x',(x==0 or ends<x) and ends or x,own,seq..' '..granted..' '..ends)
else
  redis.call('HSET',m,'sum',sum,'at',now,'x',x)
  redis.call('HDEL',m,own)
end
redis.call('HSET',q,'t',others+base+granted,mine,seq..' '..(base+granted)..' '..granted..' '..now..' '..life)
if not h[1] then redis.call('PEXPIRE',q,keep) end
redis.call('PEXPIRE',m,120000)
redis.call('PEXPIRE',past,120000)

if status~=6 then
  e=redis.call('LINDEX',past,0)
  if e then wait=string.match(e,'(%d+)')-now elseif sum+granted>0 then wait=60000 end
  if wait>60000 then wait=60000 end
end
return {status,now,granted,sum+granted,wait,others,seq}
