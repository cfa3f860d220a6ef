#!lua
-- Keeps a reply, if its claim still has the key. That decides whether the call is charged.
--
-- KEYS: the key's record, the times of the tenant's replies.
-- ARGV: claim, instant of the admission, reply, milliseconds that a reply is kept.
-- Answers: 1 = kept, 0 = not.
local r=redis.call('HMGET',KEYS[1],'o','d')
if r[1]~=ARGV[1] then
  -- It is void from here on: nothing that is still on its way brings it back.
  redis.call('HSET',KEYS[1],'x:'..ARGV[1],'')
  if not r[2] then redis.call('PEXPIRE',KEYS[1],ARGV[4]) end
  return {0}
end
if r[2] then
  redis.call('HSET',KEYS[1],'o',ARGV[1])
  return {1}
end
redis.call('HSET',KEYS[1],'d',ARGV[3],'at',ARGV[2])
redis.call('PEXPIRE',KEYS[1],ARGV[4])
redis.call('RPUSH',KEYS[2],ARGV[2])
redis.call('PEXPIRE',KEYS[2],ARGV[4]+60000)
return {1}
