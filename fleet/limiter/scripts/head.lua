#!lua
-- How take and lease begin: take.lua and lease.lua follow this text.
--
-- KEYS: the allowance's hash, the window's list, the window's leases, the tenant's mark.
-- ARGV: incarnation, number, last number that is known to be stored, calls a minute, calls that want,
-- limit of the allowance, units charged and held by this incarnation, begin and end of the allowance in
-- milliseconds, length of a lease, life of the server.
-- Answers: status, instant, granted, calls in the window, milliseconds until the next unit of it
-- frees, units of other incarnations, number that is stored.
local time=redis.call('TIME')
local now=time[1]*1000+math.floor(time[2]/1000)
local q,w,m,mark,mine=KEYS[1],KEYS[2],KEYS[3],KEYS[4],'s:'..ARGV[1]
local seq,last,per,want=tonumber(ARGV[2]),tonumber(ARGV[3]),tonumber(ARGV[4]),tonumber(ARGV[5])
local limit,base=tonumber(ARGV[6]),tonumber(ARGV[7])
local from,till,ttl,life=tonumber(ARGV[8]),tonumber(ARGV[9]),tonumber(ARGV[10]),ARGV[11]

local h=redis.call('HMGET',q,'t',mine)
local others,oseq,oclaim,ogranted,oat,olife=tonumber(h[1] or 0),0,0,0,0,''
if h[2] then
  local a,b,c,d,e=string.match(h[2],'(%d+) (%d+) (%d+) (%d+) (%w+)')
  oseq,oclaim,ogranted,oat,olife=tonumber(a),tonumber(b),tonumber(c),tonumber(d),e
end
others=others-oclaim
local keep=math.max(0,till-now)+172800000

-- The answer to what grants nothing; nil when units may be granted. The window has count calls.
local function settled_before(count)
  -- A repetition is a write, too: who waits for replicas has to wait for what was granted before. That
  -- writes were lost is said again, too.
  if oseq==seq and olife==life then
    redis.call('HSET',q,mine,h[2])
    if string.sub(h[2],-2)==' L' then return {5,oat,0,per,60000+ttl,others,oseq} end
    return {3,oat,ogranted,count,60000,others,oseq}
  end
  if oseq>=seq then return {4,now,0,0,0,others,oseq} end
  -- A server whose clock is ahead begins a day early by as much, and no more than five seconds.
  if want>0 and (now<from-5000 or now>=till) then return {7,now,0,0,0,0,0} end

  if oseq<last then
    -- Acknowledged writes are gone: nobody knows what was granted in the last minute.
    redis.call('HSET',mark,'c',now+60000+ttl)
    redis.call('PEXPIRE',mark,120000)
    redis.call('HSET',q,'t',others+base,mine,seq..' '..base..' 0 '..now..' '..life..' L')
    redis.call('PEXPIRE',q,keep)
    return {5,now,0,per,60000+ttl,others,seq}
  end
end
