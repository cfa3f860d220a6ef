#!lua
-- Enters a kept reply again that was lost, unless somebody has the key by now.
--
-- KEYS: the key's record, the times of the tenant's replies.
-- ARGV: claim, hash of the body, instant of the admission, reply, milliseconds that a reply is kept.
-- Answers: 1 = entered, 0 = not: it is there, another has the key, or its time is over.
local time=redis.call('TIME')
local now=time[1]*1000+math.floor(time[2]/1000)
local left=ARGV[5]-(now-ARGV[3])
local r=redis.call('HMGET',KEYS[1],'h','o','x:'..ARGV[1])
if left<=0 or r[3] or r[1] and r[2]~='' then return {0} end
redis.call('HSET',KEYS[1],'h',ARGV[2],'o',ARGV[1],'at',ARGV[3],'d',ARGV[4])
redis.call('PEXPIRE',KEYS[1],left)
redis.call('RPUSH',KEYS[2],ARGV[3])
redis.call('PEXPIRE',KEYS[2],ARGV[5]+60000)
return {1}
