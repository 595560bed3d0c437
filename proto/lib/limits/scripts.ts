/**
 * Lua scripts, which Redis runs atomically. Each key has one hash: r and t are the times until which requests and tokens are paid for, in milliseconds of
 * Redis' clock; p:<process> is the number of a process's open turns, with its expiry time unless renewed, so a dead process frees its turns soon.
 */

/** ARGV[1]: process, ARGV[2]: how long its count of turns is valid, in milliseconds. */
const read = `
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

/** ARGV[3..5]: limits of requests, tokens and turns, 0 for none; [6], [7]: 1 to count a request, or to open a turn. */
const enter = `${read}
local requests, tokens, turns = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local request, turn = ARGV[6] == '1', ARGV[7] == '1'
local function out(limit, used) return limit > 0 and math.floor((60000 - used) / (60000 / limit) + 0.01) < 1 end
if request and out(requests, ahead.r) then return answer('requests') end
if out(tokens, ahead.t) then return answer('tokens') end
if turn and others + own >= turns then return answer('concurrency') end
if request and requests > 0 then ahead.r = ahead.r + 60000 / requests end
if turn then own = own + 1 end
keep()
return answer('')`;

/** ARGV[3]: number of ended turns; [4], [5]: tokens used by them and the limit of tokens, 0 for no limit. */
const leave = `${read}
own = math.max(0, own - tonumber(ARGV[3]))
if tonumber(ARGV[5]) > 0 then ahead.t = ahead.t + tonumber(ARGV[4]) * 60000 / tonumber(ARGV[5]) end
keep()
return answer('')`;

/** ARGV[3]: number of open turns; [4], [6]: minimum times ahead of requests and tokens; [5], [7]: times to add. */
const restore = `${read}
own = tonumber(ARGV[3])
ahead.r = math.max(ahead.r, tonumber(ARGV[4])) + tonumber(ARGV[5])
ahead.t = math.max(ahead.t, tonumber(ARGV[6])) + tonumber(ARGV[7])
keep()
return answer('')`;

/** Key: shared by all processes of a kind. ARGV[1]: process, [2]: how long it counts. Returns the number of processes. */
const present = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

export const scripts = { enter, leave, restore, present } as const;
