/**
 * Lua scripts, which Redis runs atomically. Each limited key, and each limited group of models, has one hash: r and t are the times until which requests and
 * tokens by the minute are paid for, R and T the same by the day with the limit under which they count, in milliseconds of Redis' clock; p:<process> is the number of a process's open turns, with
 * its expiry time unless renewed, so a dead process frees its turns soon.
 *
 * The scripts of models take several hashes at once: a turn enters all of them or none. Their answers tell the use of each with the limits under which its
 * day counts. The scripts of keys take one hash and know no limits by the day, because every request of every key runs them.
 */

/** For one key. ARGV[1]: process, ARGV[2]: how long its count of turns is valid, in milliseconds. */
const readKey = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local process, lease = 'p:' .. ARGV[1], tonumber(ARGV[2])
local ahead, others, own = {r = 0, t = 0}, 0, 0
local state = redis.call('HGETALL', KEYS[1])
for i = 1, #state, 2 do
  local field, value = state[i], state[i + 1]
  if ahead[field] then
    ahead[field] = math.max(0, tonumber(value) - now)
  else
    local count, till = string.match(value, '^(%d+) (%d+)$')
    if tonumber(till) < now then redis.call('HDEL', KEYS[1], field)
    elseif field == process then own = tonumber(count)
    else others = others + tonumber(count) end
  end
end
local function keep()
  for _, field in ipairs({'r', 't'}) do
    ahead[field] = math.min(3600000, ahead[field])
    if ahead[field] > 0 then redis.call('HSET', KEYS[1], field, string.format('%.4f', now + ahead[field])) end
  end
  if own > 0 then redis.call('HSET', KEYS[1], process, string.format('%d %d', own, now + lease))
  else redis.call('HDEL', KEYS[1], process) end
  redis.call('PEXPIRE', KEYS[1], math.ceil(math.max(ahead.r, ahead.t, lease)))
end
local function answer(refused) return {refused, string.format('%.4f', ahead.r), string.format('%.4f', ahead.t)} end
`;

/** For one key. ARGV[3..5]: limits of requests, tokens and turns, 0 for none; [6], [7]: 1 to count a request, or to open a turn. */
const enter = `${readKey}
local requests, tokens, turns = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local request, turn = ARGV[6] == '1', ARGV[7] == '1'
local function out(limit, used) return limit > 0 and math.floor((60000 - used) / (60000 / limit) + 0.01) < 1 end
if request and out(requests, ahead.r) then return answer('requests') end
if out(tokens, ahead.t) then return answer('tokens') end
if turn and turns > 0 and others + own >= turns then return answer('concurrency') end
if request and requests > 0 then ahead.r = ahead.r + 60000 / requests end
if turn then own = own + 1 end
keep()
return answer('')`;

/** For one key. ARGV[3]: number of ended turns; [4], [5]: tokens used by them and the limit of tokens, 0 for no limit. */
const leave = `${readKey}
own = math.max(0, own - tonumber(ARGV[3]))
if tonumber(ARGV[5]) > 0 then ahead.t = ahead.t + tonumber(ARGV[4]) * 60000 / tonumber(ARGV[5]) end
keep()
return answer('')`;

/** ARGV[1]: process, ARGV[2]: how long its count of turns is valid, in milliseconds. */
const readAll = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local process, lease = 'p:' .. ARGV[1], tonumber(ARGV[2])
local most = {r = 3600000, t = 3600000, R = 172800000, T = 172800000}
local function read(key)
  local ahead, limits, others, own = {r = 0, t = 0, R = 0, T = 0}, {}, 0, 0
  local state = redis.call('HGETALL', key)
  for i = 1, #state, 2 do
    local field, value = state[i], state[i + 1]
    if field == 'R' or field == 'T' then
      local till, limit = string.match(value, '^(%S+) ?(%S*)$')
      ahead[field], limits[field] = math.max(0, tonumber(till) - now), tonumber(limit)
    elseif ahead[field] then
      ahead[field] = math.max(0, tonumber(value) - now)
    else
      local count, till = string.match(value, '^(%d+) (%d+)$')
      if tonumber(till) < now then redis.call('HDEL', key, field)
      elseif field == process then own = tonumber(count)
      else others = others + tonumber(count) end
    end
  end
  return {key = key, ahead = ahead, limits = limits, others = others, own = own}
end
local function under(use, field, limit)
  local known = use.limits[field]
  return limit > 0 and known and use.ahead[field] * known / limit or use.ahead[field]
end
local function follow(use, field, limit)
  if limit == 0 then return end
  use.ahead[field], use.limits[field] = under(use, field, limit), limit
end
-- Raises the use to a least time and adds a time, both under a limit that may have changed since. The limit of the hash stays, except where it would forgive
-- use that the higher of both keeps. An empty bucket takes the lower one, under which use comes back later.
local function count(use, field, limit, least, time)
  local known, ahead = use.limits[field], use.ahead[field]
  if limit > 0 then
    known = known or limit
    local low = ahead == 0 and math.min(known, limit) or known
    local sum = math.max(ahead * known, least * limit) + time * limit
    follow(use, field, sum / low <= most[field] and low or math.max(known, limit))
    least, time = least * limit / use.limits[field], time * limit / use.limits[field]
  end
  use.ahead[field] = math.max(0, math.max(use.ahead[field], least) + time)
end
local function keep(use)
  local till = lease
  for field, limit in pairs(most) do
    local ahead = math.min(limit, use.ahead[field])
    use.ahead[field] = ahead
    till = math.max(till, ahead)
    if ahead > 0 then
      local value, limit = string.format('%.4f', now + ahead), use.limits[field]
      redis.call('HSET', use.key, field, limit and string.format('%s %.0f', value, limit) or value)
    end
  end
  if use.own > 0 then redis.call('HSET', use.key, process, string.format('%d %d', use.own, now + lease))
  else redis.call('HDEL', use.key, process) end
  redis.call('PEXPIRE', use.key, math.ceil(till))
end
local uses = {}
for i, key in ipairs(KEYS) do uses[i] = read(key) end
local function answer(refused, which)
  local told = {refused, which}
  for _, use in ipairs(uses) do
    for _, field in ipairs({'r', 't', 'R', 'T'}) do told[#told + 1] = string.format('%.4f', use.ahead[field]) end
    for _, field in ipairs({'R', 'T'}) do told[#told + 1] = string.format('%.0f', use.limits[field] or 0) end
  end
  return told
end
`;

/**
 * ARGV[3], [4]: 1 to count a request, or to open a turn; then five for each key: limits of requests and tokens by the minute, of both by the day, and of
 * turns, 0 for none. The answer names the refusing limit and its key, counted from 0. A refusal changes nothing.
 */
const enterAll = `${readAll}
local request, turn = ARGV[3] == '1', ARGV[4] == '1'
local minute, day = 60000, 86400000
local function out(limit, used, period) return limit > 0 and math.floor((period - used) / (period / limit) + 0.01) < 1 end
for i, use in ipairs(uses) do
  local at, ahead = 5 * i, use.ahead
  use.requests, use.requestsDay, use.tokensDay = tonumber(ARGV[at]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if request and out(use.requests, ahead.r, minute) then return answer('requests', i - 1) end
  if request and out(use.requestsDay, under(use, 'R', use.requestsDay), day) then return answer('requests_per_day', i - 1) end
  if out(tonumber(ARGV[at + 1]), ahead.t, minute) then return answer('tokens', i - 1) end
  if out(use.tokensDay, under(use, 'T', use.tokensDay), day) then return answer('tokens_per_day', i - 1) end
  local turns = tonumber(ARGV[at + 4])
  if turn and turns > 0 and use.others + use.own >= turns then return answer('concurrency', i - 1) end
end
for _, use in ipairs(uses) do
  local ahead = use.ahead
  follow(use, 'R', use.requestsDay)
  follow(use, 'T', use.tokensDay)
  if request and use.requests > 0 then ahead.r = ahead.r + minute / use.requests end
  if request and use.requestsDay > 0 then ahead.R = ahead.R + day / use.requestsDay end
  if turn then use.own = use.own + 1 end
  keep(use)
end
return answer('', 0)`;

/**
 * ARGV[3]: number of ended turns; then six for each key: tokens used, the limits of tokens by the minute and by the day, requests to give back, and the limits
 * of requests by the minute and by the day; 0 for no limit.
 */
const leaveAll = `${readAll}
local function give(use, field, limit, time)
  count(use, field, limit, 0, -time)
  if use.ahead[field] == 0 then redis.call('HDEL', use.key, field) end
end
for i, use in ipairs(uses) do
  local at, ahead = 6 * i - 2, use.ahead
  local tokens, perMinute, perDay = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local unused, requests, requestsDay = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  use.own = math.max(0, use.own - tonumber(ARGV[3]))
  if perMinute > 0 then ahead.t = ahead.t + tokens * 60000 / perMinute end
  if perDay > 0 then count(use, 'T', perDay, 0, tokens * 86400000 / perDay) end
  if unused > 0 and requests > 0 then give(use, 'r', 0, unused * 60000 / requests) end
  if unused > 0 and requestsDay > 0 then give(use, 'R', requestsDay, unused * 86400000 / requestsDay) end
  keep(use)
end
return answer('', 0)`;

/** For one key. ARGV[3]: number of open turns; then four for each of r, t, R and T: the minimum time ahead and its limit of a day, the time to add and its limit. */
const restore = `${readAll}
local use = uses[1]
use.own = tonumber(ARGV[3])
for i, field in ipairs({'r', 't', 'R', 'T'}) do
  local at = 4 * i
  count(use, field, tonumber(ARGV[at + 1]), tonumber(ARGV[at]), 0)
  count(use, field, tonumber(ARGV[at + 3]), 0, tonumber(ARGV[at + 2]))
end
keep(use)
return answer('', 0)`;

/** Key: shared by all processes of a kind. ARGV[1]: process, [2]: how long it counts. Returns the number of processes. */
const present = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

export const scripts = { enter, leave, enterAll, leaveAll, restore, present } as const;
