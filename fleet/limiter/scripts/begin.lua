#!lua
-- Looks up an idempotency key, and claims it where nobody has it.
--
-- KEYS: the key's record, the times of the tenant's replies.
-- ARGV: claim, hash of the body, milliseconds that a claim holds, milliseconds that a reply is kept,
-- most replies of a tenant, claims of this server that are open.
-- Answers: 0 = claimed; 1, reply; 2 = another body; 3, milliseconds until a reply leaves, replies kept;
-- 4, milliseconds until the claim of another ends.
local time=redis.call('TIME')
local now=time[1]*1000+math.floor(time[2]/1000)
local record,times=KEYS[1],KEYS[2]
local claim,body,holds,keep,most=ARGV[1],ARGV[2],tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])

local r=redis.call('HMGET',record,'h','o','c','at','d','x:'..claim)
-- What is void is not claimed again, by a question that was long on its way.
if r[6] then return {4,1} end
local there=r[1]
if there and r[5] then there=now-r[4]<keep
elseif there and r[2]~=claim then there=now<tonumber(r[3]) end
if there then
  if r[1]~=body then return {2} end
  -- Each of these answers is a write: see take.
  if r[5] then
    redis.call('HSET',record,'o',r[2])
    return {1,r[5]}
  end
  if r[2]~=claim then return {4,r[3]-now} end
  redis.call('HSET',record,'o',claim)
  return {0}
end

local first=redis.call('LINDEX',times,0)
while first and now-first>=keep do
  redis.call('LPOP',times)
  first=redis.call('LINDEX',times,0)
end
local kept=redis.call('LLEN',times)
if kept+ARGV[6]>=most then
  local wait=1
  if first then wait=keep-(now-first) end
  return {3,wait,kept}
end

redis.call('HDEL',record,'d')
redis.call('HSET',record,'h',body,'o',claim,'c',now+holds)
redis.call('PEXPIRE',record,holds)
return {0}
