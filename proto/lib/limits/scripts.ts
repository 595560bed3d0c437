/**
 * Lua scripts, which Redis runs atomically. Each limited key, and each limited group of models, has three Redis keys in
 * one slot of a Redis Cluster:
 *
 * - a hash of its use: r and t are the times until which requests and tokens by the minute are paid for; R and T are
 * the same by the day, each with the limit under which it is measured. Times are in milliseconds of the clock of Redis;
 * - a hash of its running turns: `all`, and for each process its number of turns with the time until which it is valid,
 * so the turns of a dead process are freed soon;
 * - a sorted set of these times by process. Only a request at the limit of concurrent turns, and the renewal by a
 * process every few seconds, look for expired times, so the cost of a request does not grow with the number of
 * processes.
 *
 * Builds before 2026-12 keep each process's number in the hash of the use, as p:<process>, and read all of them for
 * each request. For these builds, p:all has the turns of all later builds, and their turns are added here: builds of
 * both kinds count exactly side by side.
 *
 * The scripts for models take several limits at once: a turn enters all of them or none. Their answers contain the use
 * of each, with the limits under which its day is measured. The scripts for keys take one key without limits by the
 * day, because every request of every key runs them.
 */

import { inSlotOf } from "../redis/address.ts";

/** Names of the three Redis keys of a limit, all in one slot. */
export function redisKeysOf(id: string): readonly [use: string, turns: string, leases: string] {
  const use = `sluice:limits:key:${id}`;
  return [use, inSlotOf(use, "turns"), inSlotOf(use, "leases")];
}

/**
 * Maximum number of expired processes that one call frees, in about 3 ms. With more of them, requests at the limit of
 * turns may be refused until later calls have freed the rest.
 */
const maxFreed = 1_000;

/** Common beginning of every script. ARGV[1]: process, ARGV[2]: milliseconds for which its number of turns is valid. */
const open = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local process, lease = ARGV[1], tonumber(ARGV[2])
-- The turns of a process of an earlier build, in the hash of the use.
local function readFormer(use, field, value)
  if field == 'p:all' then use.isTold = true return end
  local count, till = string.match(value, '^(%d+) (%d+)$')
  if not till or tonumber(till) < now then redis.call('HDEL', use.key, field) else use.former = use.former + tonumber(count) end
end
local function readTurns(use)
  local known = redis.call('HMGET', use.turns, 'all', 'p:' .. process)
  use.all, use.own, use.till, use.isLost = tonumber(known[1] or 0), 0, 0, not known[1]
  if not known[2] then return end
  local count, till = string.match(known[2], '^(%d+) (%d+)$')
  use.till = tonumber(till)
  if use.till < now then use.all = use.all - tonumber(count) else use.own = tonumber(count) end
end
local function tellFormer(use)
  if use.all > 0 then return string.format('%d %d', use.all, now + lease) end
end
-- Frees the turns of processes that have not renewed them, of so many in one step. Without one of its two keys the other says nothing: living processes tell their turns anew.
local function freeExpired(use)
  if use.isLost or use.isFreed then return end
  use.isFreed = true
  if redis.call('HLEN', use.turns) - 1 ~= redis.call('ZCARD', use.leases) then
    redis.call('DEL', use.turns, use.leases)
    use.all, use.till, use.isLost = use.own, 0, true
    return
  end
  -- Its own are out of the sum already.
  local isChanged = use.till > 0 and use.till < now
  if isChanged then
    redis.call('HDEL', use.turns, 'p:' .. process)
    redis.call('ZREM', use.leases, process)
    use.till = 0
  end
  local expired = redis.call('ZRANGEBYSCORE', use.leases, '-inf', string.format('(%.3f', now), 'LIMIT', 0, ${maxFreed})
  if #expired > 0 then
    local fields = {}
    for i, name in ipairs(expired) do fields[i] = 'p:' .. name end
    for _, value in ipairs(redis.call('HMGET', use.turns, unpack(fields))) do
      use.all = use.all - tonumber(string.match(value or '0', '^%d+'))
    end
    redis.call('HDEL', use.turns, unpack(fields))
    redis.call('ZREM', use.leases, unpack(expired))
  elseif not isChanged then return end
  redis.call('HSET', use.turns, 'all', string.format('%d', use.all))
  local told = use.isTold and tellFormer(use)
  if told then redis.call('HSET', use.key, 'p:all', told) end
end
local function isFull(use, turns)
  if turns == 0 or use.all + use.former < turns then return false end
  freeExpired(use)
  return use.all + use.former >= turns
end
local function setOwn(use, own)
  use.all, use.own = use.all + own - use.own, own
end
-- Writes the turns after a change. A number above 0 is renewed when a third of its time has passed.
local function keepTurns(use, isRenewal)
  if use.till == 0 and use.own == 0 then return end
  local isRenewed = use.own > 0 and (isRenewal or use.till - now < lease * 2 / 3)
  if isRenewed then
    use.till = math.floor(now + lease)
    if use.isLost then redis.call('DEL', use.leases) end
    redis.call('ZADD', use.leases, string.format('%d', use.till), process)
    redis.call('PEXPIRE', use.leases, 2 * lease)
  end
  redis.call('HSET', use.turns, 'all', string.format('%d', use.all), 'p:' .. process, string.format('%d %d', use.own, use.till))
  if isRenewed then redis.call('PEXPIRE', use.turns, 2 * lease) end
end
`;

/** Reads the state of one limited key. */
const readKey = `${open}
local use = {key = KEYS[1], turns = KEYS[2], leases = KEYS[3], former = 0}
local ahead = {r = 0, t = 0}
local state = redis.call('HGETALL', use.key)
for i = 1, #state, 2 do
  local field, value = state[i], state[i + 1]
  if ahead[field] then ahead[field] = math.max(0, tonumber(value) - now)
  elseif string.sub(field, 1, 2) == 'p:' then readFormer(use, field, value) end
end
local function keep(isTurn)
  local told = {}
  for _, field in ipairs({'r', 't'}) do
    ahead[field] = math.min(3600000, ahead[field])
    if ahead[field] > 0 then
      told[#told + 1] = field
      told[#told + 1] = string.format('%.4f', now + ahead[field])
    end
  end
  if isTurn then
    keepTurns(use)
    local former = tellFormer(use)
    if former then told[#told + 1], told[#told + 2] = 'p:all', former
    elseif use.isTold then redis.call('HDEL', use.key, 'p:all') end
  end
  if #told > 0 then redis.call('HSET', use.key, unpack(told)) end
  redis.call('PEXPIRE', use.key, math.ceil(math.max(ahead.r, ahead.t, lease)))
end
`;

/**
 * Enters requests of one key. ARGV[3..5]: limits of requests, tokens and turns, 0 for none; [6], [7]: 1 to count a
 * request, or to begin a turn; [8]: number of such requests, which are decided one after the other. The answer has
 * three fields for each.
 */
const enter = `${readKey}
local requests, tokens, turns = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local request, turn = ARGV[6] == '1', ARGV[7] == '1'
if turn then readTurns(use) end
local function out(limit, used) return limit > 0 and math.floor((60000 - used) / (60000 / limit) + 0.01) < 1 end
local function refused()
  if request and out(requests, ahead.r) then return 'requests' end
  if out(tokens, ahead.t) then return 'tokens' end
  return turn and isFull(use, turns) and 'concurrency' or ''
end
local answer, isChanged = {}, false
for _ = 1, tonumber(ARGV[8]) do
  local by = refused()
  if by == '' then
    isChanged = true
    if request and requests > 0 then ahead.r = math.min(3600000, ahead.r + 60000 / requests) end
    if turn then setOwn(use, use.own + 1) end
  end
  answer[#answer + 1] = by
  answer[#answer + 1] = string.format('%.4f', ahead.r)
  answer[#answer + 1] = string.format('%.4f', ahead.t)
end
if isChanged then keep(turn) end
return answer`;

/**
 * Ends turns of one key. ARGV[3]: number of ended turns; [4], [5]: tokens that they used, and the limit of tokens, 0
 * for none.
 */
const leave = `${readKey}
local ended = tonumber(ARGV[3])
if ended > 0 then
  readTurns(use)
  setOwn(use, math.max(0, use.own - ended))
end
if tonumber(ARGV[5]) > 0 then ahead.t = ahead.t + tonumber(ARGV[4]) * 60000 / tonumber(ARGV[5]) end
keep(ended > 0)
return {'', string.format('%.4f', ahead.r), string.format('%.4f', ahead.t)}`;

/** Reads the state of several limits, each with three Redis keys. */
const readAll = `${open}
local most = {r = 3600000, t = 3600000, R = 172800000, T = 172800000}
local function read(key, turns, leases)
  local ahead, limits = {r = 0, t = 0, R = 0, T = 0}, {}
  local use = {key = key, turns = turns, leases = leases, former = 0, ahead = ahead, limits = limits}
  local state = redis.call('HGETALL', key)
  for i = 1, #state, 2 do
    local field, value = state[i], state[i + 1]
    if field == 'R' or field == 'T' then
      local till, limit = string.match(value, '^(%S+) ?(%S*)$')
      ahead[field], limits[field] = math.max(0, tonumber(till) - now), tonumber(limit)
    elseif ahead[field] then
      ahead[field] = math.max(0, tonumber(value) - now)
    elseif string.sub(field, 1, 2) == 'p:' then readFormer(use, field, value) end
  end
  readTurns(use)
  return use
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
local function keep(use, isRenewal)
  local till, told = lease, {}
  for field, limit in pairs(most) do
    local ahead = math.min(limit, use.ahead[field])
    use.ahead[field] = ahead
    till = math.max(till, ahead)
    if ahead > 0 then
      local value, limit = string.format('%.4f', now + ahead), use.limits[field]
      told[#told + 1] = field
      told[#told + 1] = limit and string.format('%s %.0f', value, limit) or value
    end
  end
  keepTurns(use, isRenewal)
  local former = tellFormer(use)
  if former then told[#told + 1], told[#told + 2] = 'p:all', former
  elseif use.isTold then redis.call('HDEL', use.key, 'p:all') end
  if #told > 0 then redis.call('HSET', use.key, unpack(told)) end
  redis.call('PEXPIRE', use.key, math.ceil(till))
end
local uses = {}
for i = 1, #KEYS / 3 do uses[i] = read(KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]) end
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
 * Enters a request into several limits. ARGV[3], [4]: 1 to count a request, or to begin a turn; then five arguments for
 * each limit: requests and tokens by the minute, both by the day, and concurrent turns, 0 for none. The answer names
 * the refusing limit and its index, counted from 0. A refusal changes nothing.
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
  if turn and isFull(use, turns) then return answer('concurrency', i - 1) end
end
for _, use in ipairs(uses) do
  local ahead = use.ahead
  follow(use, 'R', use.requestsDay)
  follow(use, 'T', use.tokensDay)
  if request and use.requests > 0 then ahead.r = ahead.r + minute / use.requests end
  if request and use.requestsDay > 0 then ahead.R = ahead.R + day / use.requestsDay end
  if turn then setOwn(use, use.own + 1) end
  keep(use)
end
return answer('', 0)`;

/**
 * Ends turns in several limits. ARGV[3]: number of ended turns; then six arguments for each limit: tokens used, limits
 * of tokens by the minute and by the day, requests to give back, and limits of requests by the minute and by the day; 0
 * for none.
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
  setOwn(use, math.max(0, use.own - tonumber(ARGV[3])))
  if perMinute > 0 then ahead.t = ahead.t + tokens * 60000 / perMinute end
  if perDay > 0 then count(use, 'T', perDay, 0, tokens * 86400000 / perDay) end
  if unused > 0 and requests > 0 then give(use, 'r', 0, unused * 60000 / requests) end
  if unused > 0 and requestsDay > 0 then give(use, 'R', requestsDay, unused * 86400000 / requestsDay) end
  keep(use)
end
return answer('', 0)`;

/**
 * Reports use to Redis that it does not know. ARGV[3]: number of running turns; then four arguments for each of r, t, R
 * and T: the minimum time ahead with its limit of a day, and the time to add with its limit.
 */
const restore = `${readAll}
local use = uses[1]
freeExpired(use)
setOwn(use, tonumber(ARGV[3]))
for i, field in ipairs({'r', 't', 'R', 'T'}) do
  local at = 4 * i
  count(use, field, tonumber(ARGV[at + 1]), tonumber(ARGV[at]), 0)
  count(use, field, tonumber(ARGV[at + 3]), 0, tonumber(ARGV[at + 2]))
end
keep(use, true)
return answer('', 0)`;

/**
 * Counts the running processes, by a Redis key shared by all processes of a kind. ARGV[1]: process, [2]: milliseconds
 * for which it counts. Returns the number of processes.
 */
const present = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('ZCARD', KEYS[1])`;

export const scripts = { enter, leave, enterAll, leaveAll, restore, present } as const;
