#!lua
-- Gives a claim up, unless its reply is kept: then the call is charged all the same. A claim that is
-- given up stays so: what is still on its way for it changes nothing.
--
-- KEYS: the key's record.
-- ARGV: claim, milliseconds that a claim holds.
-- Answers: 1 = the reply is kept, 0 = it is not, and will not be.
local r=redis.call('HMGET',KEYS[1],'o','d')
if r[1]==ARGV[1] then
  if r[2] then
    redis.call('HSET',KEYS[1],'o',ARGV[1])
    return {1}
  end
  redis.call('HSET',KEYS[1],'o','')
  redis.call('HDEL',KEYS[1],'h')
end
redis.call('HSET',KEYS[1],'x:'..ARGV[1],'')
if not r[2] then redis.call('PEXPIRE',KEYS[1],ARGV[2]) end
return {0}
