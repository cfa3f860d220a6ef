#!lua
-- Gives back what a server that is gone claims of an allowance beyond what it charged. Its number stays:
-- if it lives all the same, its next question claims again what it has.
--
-- KEYS: the allowance's hash.
-- ARGV: incarnation, units that it charged, 1 = only look.
-- Answers: units that are free again.
local h=redis.call('HMGET',KEYS[1],'t','s:'..ARGV[1])
if not h[2] then return {0} end
local seq,claim,_,at,life=string.match(h[2],'(%d+) (%d+) (%d+) (%d+) (%w+)')
local free=tonumber(claim)-tonumber(ARGV[2])
if free<=0 then return {0} end
if ARGV[3]=='1' then return {free} end
redis.call('HSET',KEYS[1],'t',tonumber(h[1])-free,'s:'..ARGV[1],seq..' '..ARGV[2]..' 0 '..at..' '..life)
return {free}
