/**
 * Lua scripts, which Redis runs atomically. Each limited key, and each limited group of models, has one hash: r and t are the times until which requests and
 * tokens by the minute are paid for, R and T the same by the day with the limit under which they count, in milliseconds of Redis' clock; p:<process> is the number of a process's open turns, with
 * its expiry time unless renewed, so a dead process frees its turns soon.
 *
 * A script takes several hashes at once: a turn enters all of them or none.
 */

/** ARGV[1]: process, ARGV[2]: how long its count of turns is valid, in milliseconds. */
const read = `
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
local function follow(use, field, limit)
  if limit == 0 then return end
  if use.limits[field] then use.ahead[field] = use.ahead[field] * use.limits[field] / limit end
  use.limits[field] = limit
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
  end
  return told
end
`;

/**
 * ARGV[3], [4]: 1 to count a request, or to open a turn; then five for each key: limits of requests and tokens by the minute, of both by the day, and of
 * turns, 0 for none. The answer names the refusing limit and its key, counted from 0.
 */
const enter = `${read}
local request, turn = ARGV[3] == '1', ARGV[4] == '1'
local minute, day = 60000, 86400000
local function out(limit, used, period) return limit > 0 and math.floor((period - used) / (period / limit) + 0.01) < 1 end
for i, use in ipairs(uses) do
  local at, ahead = 5 * i, use.ahead
  local tokensDay = tonumber(ARGV[at + 3])
  use.requests, use.requestsDay = tonumber(ARGV[at]), tonumber(ARGV[at + 2])
  follow(use, 'R', use.requestsDay)
  follow(use, 'T', tokensDay)
  if request and out(use.requests, ahead.r, minute) then return answer('requests', i - 1) end
  if request and out(use.requestsDay, ahead.R, day) then return answer('requests_per_day', i - 1) end
  if out(tonumber(ARGV[at + 1]), ahead.t, minute) then return answer('tokens', i - 1) end
  if out(tokensDay, ahead.T, day) then return answer('tokens_per_day', i - 1) end
  local turns = tonumber(ARGV[at + 4])
  if turn and turns > 0 and use.others + use.own >= turns then return answer('concurrency', i - 1) end
end
for _, use in ipairs(uses) do
  local ahead = use.ahead
  if request and use.requests > 0 then ahead.r = ahead.r + minute / use.requests end
  if request and use.requestsDay > 0 then ahead.R = ahead.R + day / use.requestsDay end
  if turn then use.own = use.own + 1 end
  keep(use)
end
return answer('', 0)`;

/** ARGV[3]: number of ended turns; then three for each key: tokens used, and the limits of tokens by the minute and by the day, 0 for no limit. */
const leave = `${read}
for i, use in ipairs(uses) do
  local at, ahead = 1 + 3 * i, use.ahead
  local tokens, perMinute, perDay = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  use.own = math.max(0, use.own - tonumber(ARGV[3]))
  follow(use, 'T', perDay)
  if perMinute > 0 then ahead.t = ahead.t + tokens * 60000 / perMinute end
  if perDay > 0 then ahead.T = ahead.T + tokens * 86400000 / perDay end
  keep(use)
end
return answer('', 0)`;

/** For one key. ARGV[3]: number of open turns; then three for each of r, t, R and T: the minimum time ahead, the time to add, and the limit of a day. */
const restore = `${read}
local use = uses[1]
use.own = tonumber(ARGV[3])
for i, field in ipairs({'r', 't', 'R', 'T'}) do
  local at = 1 + 3 * i
  follow(use, field, tonumber(ARGV[at + 2]))
  use.ahead[field] = math.max(use.ahead[field], tonumber(ARGV[at])) + tonumber(ARGV[at + 1])
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

export const scripts = { enter, leave, restore, present } as const;
