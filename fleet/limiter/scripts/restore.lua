#!lua
-- Enters what servers have charged to an allowance, where Redis knows nothing of them: it was emptied
-- since the allowance began.
--
-- KEYS: the allowance's hash.
-- ARGV: end of the allowance in milliseconds, how many numbers follow, then by twos: incarnation, units.
-- Answers: units that were entered.
local time=redis.call('TIME')
local now=time[1]*1000+math.floor(time[2]/1000)
local entered=0
for i=3,2+tonumber(ARGV[2]),2 do
  local mine='s:'..ARGV[i]
  if not redis.call('HMGET',KEYS[1],mine)[1] then
    -- The lowest number: the first question of that server is above it.
    redis.call('HSET',KEYS[1],mine,'1 '..ARGV[i+1]..' 0 '..now..' 0')
    entered=entered+ARGV[i+1]
  end
end
local total=tonumber(redis.call('HMGET',KEYS[1],'t')[1] or 0)+entered
redis.call('HSET',KEYS[1],'t',total)
redis.call('PEXPIRE',KEYS[1],math.max(0,tonumber(ARGV[1])-now)+172800000)
return {entered}
