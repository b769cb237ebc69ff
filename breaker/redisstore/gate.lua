-- One operation on one gate: the transition function of package breaker, on a
-- Redis hash. Times are milliseconds since the Unix epoch.
--
-- KEYS  1: the gate
-- ARGV  1: admit, settle, renew, merge or restore
--       2: the time; empty: the server's
--       3..9: the rules: streak, rate per million, min calls, bucket width,
--             cooldown, longest cooldown, probe lease
--       10..: the operation's own
-- Reply {ok, state, retry after, generation and lease of a grant, changed from,
--        to (-1: unchanged), now, version, then the gate's fields in the order of F}

local F = {
  'state', 'cause', 'generation', 'streak', 'bucket', 'calls', 'failures', 'prior_calls', 'prior_failures',
  'level', 'closed_at', 'closed_for', 'cooldown', 'open_until', 'lease', 'lease_until', 'lease_for',
}
local CLOSED, OPEN, HALF_OPEN = 0, 1, 2
local STREAK, RATE = 1, 2
local SUCCESS, UNCOUNTED, FAILURE = 1, 2, 3

local function arg(i) return tonumber(ARGV[i]) end

local now
if ARGV[2] == '' then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
else
  now = arg(2)
end
local streak, rate, min_calls, width, base, most, lease = arg(3), arg(4), arg(5), arg(6), arg(7), arg(8), arg(9)

local stored = redis.call('HMGET', KEYS[1], 'version', unpack(F))
local exists = stored[1] and true or false
local version = tonumber(stored[1] or 0) -- of the hash: it orders answers of the same millisecond
local g = {}
for i, f in ipairs(F) do g[f] = tonumber(stored[i + 1] or 0) end

local dirty = false
local answer = { ok = 0, state = g.state, after = 0, generation = 0, lease = 0, from = -1, to = -1 }

local function say(ok, state, after)
  answer.ok, answer.state, answer.after = ok, state, after or 0
end

local function change(from, to) answer.from, answer.to = from, to end

local function move(to)
  g.state = to
  g.generation = math.max(g.generation + 1, now)
  g.lease, g.lease_until, g.lease_for = 0, 0, 0
end

local function lend()
  g.lease_for = lease
  g.lease_until = now + lease
end

local function rotate()
  local bucket = math.floor(now / width)
  if bucket == g.bucket or bucket == g.bucket - 1 then return end
  if bucket == g.bucket + 1 then
    g.prior_calls, g.prior_failures = g.calls, g.failures
  else
    g.prior_calls, g.prior_failures = 0, 0
  end
  g.bucket, g.calls, g.failures = bucket, 0, 0
end

local function count(calls, failures)
  rotate()
  g.calls = g.calls + calls
  g.failures = g.failures + failures
end

local function decay()
  if g.level == 0 then
    g.closed_for = 0
    return
  end
  local spent = g.closed_for + math.max(0, now - g.closed_at)
  g.level = math.floor(g.level / 2 ^ math.min(math.floor(spent / base), 62))
  g.closed_for = spent % base
  if g.level == 0 then g.closed_for = 0 end
end

local function open(cause)
  local from, cooldown = g.state, base
  if from == CLOSED then decay() end
  if cause ~= STREAK then
    if g.level == 0 then
      g.level = 1
    elseif g.level * base < most then
      g.level = g.level * 2
    end
    cooldown = math.min(g.level * base, most)
  end
  if from == CLOSED then g.cause = cause end
  move(OPEN)
  g.cooldown, g.open_until = cooldown, now + cooldown
  say(1, OPEN, cooldown)
  change(from, OPEN)
end

local function judge(run)
  local calls, failures = g.calls + g.prior_calls, g.failures + g.prior_failures
  if rate == 0 then
    if streak > 0 and run >= streak then open(STREAK) end
  elseif run >= math.max(min_calls, streak) then
    open(RATE)
  elseif calls >= min_calls and failures * 1000000 >= rate * calls then
    open(RATE)
  elseif calls < min_calls and streak > 0 and run >= streak then
    open(STREAK)
  end
end

local function holds(generation, number)
  if generation ~= g.generation then return false end
  if g.state == HALF_OPEN then return number == g.lease and g.lease_until ~= 0 end
  return g.state == CLOSED and number == 0
end

local O = {}

function O.admit()
  if g.state == CLOSED then
    say(1, CLOSED)
    answer.generation = g.generation
    return
  end
  if g.state == OPEN then
    local ends = math.min(g.open_until, now + g.cooldown)
    if ends ~= g.open_until then g.open_until, dirty = ends, true end
    if now < g.open_until then
      say(0, OPEN, g.open_until - now)
      return
    end
    move(HALF_OPEN)
    change(OPEN, HALF_OPEN)
  else
    local ends = math.min(g.lease_until, now + g.lease_for)
    if ends ~= g.lease_until then g.lease_until, dirty = ends, true end
    if now < g.lease_until then
      say(0, HALF_OPEN)
      return
    end
    if g.lease_until ~= 0 then change(HALF_OPEN, HALF_OPEN) end
  end
  g.lease = g.lease + 1
  lend()
  dirty = true
  say(1, HALF_OPEN)
  answer.generation, answer.lease = g.generation, g.lease
end

function O.settle()
  local generation, number, outcome = arg(10), arg(11), arg(12)
  if not holds(generation, number) then return end
  dirty = true
  if g.state == HALF_OPEN then
    if outcome == SUCCESS or outcome == UNCOUNTED then
      move(CLOSED)
      g.streak, g.calls, g.failures, g.prior_calls, g.prior_failures = 0, 0, 0, 0, 0
      g.closed_at, g.cooldown, g.open_until = now, 0, 0
      if outcome == SUCCESS then count(1, 0) end
      say(1, CLOSED)
      change(HALF_OPEN, CLOSED)
    elseif outcome == FAILURE then
      g.level = math.max(g.level, 1)
      open(RATE)
    else
      g.lease_until = 0
      say(1, HALF_OPEN)
      change(HALF_OPEN, HALF_OPEN)
    end
    return
  end
  say(1, CLOSED)
  if outcome == SUCCESS then
    count(1, 0)
    g.streak = 0
    judge(0)
  elseif outcome == UNCOUNTED then
    g.streak = 0
  elseif outcome == FAILURE then
    count(1, 1)
    g.streak = g.streak + 1
    judge(g.streak)
  else
    dirty = false
  end
end

function O.renew()
  local generation, number = arg(10), arg(11)
  if number == 0 or not holds(generation, number) then return end
  lend()
  dirty = true
  say(1, g.state)
end

function O.merge()
  local generation, successes, failures = arg(10), arg(11), arg(12)
  local lead, trail, longest, broken = arg(13), arg(14), arg(15), arg(16) == 1
  if not holds(generation, 0) then return end
  dirty = true
  say(1, CLOSED)
  if successes + failures > 0 then count(successes + failures, failures) end
  local run = 0
  if lead > 0 then
    run = g.streak + lead
    g.streak = run
  end
  if broken then
    run = math.max(run, longest, trail)
    g.streak = trail
  end
  if successes + failures > 0 then judge(run) end
end

-- A gate that was decided elsewhere while this server could not be reached
-- comes back. It wins over an older one.
function O.restore()
  if not exists or g.generation < arg(12) then
    for i, f in ipairs(F) do g[f] = arg(9 + i) end
    dirty = true
  end
  say(1, g.state)
end

O[ARGV[1]]()

if dirty then
  version = version + 1
  local fields = { 'version', string.format('%.0f', version) }
  for i, f in ipairs(F) do
    fields[2 * i + 1] = f
    fields[2 * i + 2] = string.format('%.0f', g[f])
  end
  redis.call('HSET', KEYS[1], unpack(fields))
  -- Long enough for the cooldown, the decay of the level and a slow streak.
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', 86400000 + 2 * width + 4 * most + math.max(0, g.lease_until - now)))
end

local reply = { answer.ok, answer.state, answer.after, answer.generation, answer.lease, answer.from, answer.to, now, version }
for i, f in ipairs(F) do reply[9 + i] = g[f] end
return reply
