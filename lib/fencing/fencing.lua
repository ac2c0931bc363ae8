-- SPDX-License-Identifier: Apache-2.0
-- zkrecipes: fencing in Redis 5 or later. Version 1.
-- EVAL fencing.lua NUMBER-OF-KEYS floor [key ...] epoch token reader tag command [word ...]
--   floor: the key of a hash (epoch, exclusive, shared). key: of the command, for a cluster and for
--   ACLs. epoch, token: of the pass, decimal; a token with a turn is TOKEN:TURN, here and in
--   `exclusive`. reader: 1 for a shared pass, else 0. tag: any text; it comes back, so that a reply
--   is not taken for another's.
-- Replies:
--   {tag, 1, answer}                    the command was run; its answer
--   {tag, 0, epoch, exclusive, shared}  refused by this floor, and nothing was changed
--   {tag, 2, number}                    the command was run; this integer answer is not exact
--   {tag, 3, error}                     Redis refuses the command; the floor may have been raised
--   {tag, 4, error}                     not a call that this script can make; nothing was changed
--
-- Lua's numbers are doubles, exact to 2^53 only, and tokens are larger: they are compared as text.
-- None has a sign or a leading zero, so a longer one is higher; no turn, '', is lower than any. The
-- floor is raised first: a command that then fails has written nothing, and its holder was
-- admitted.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local function split(text)
  return string.match(text, '^(%d+):?(%d*)$')
end
local pass_epoch, pass, reader, tag = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local token, turn = split(pass)
if not token or (reader and turn ~= '') then
  return {tag, 4, 'a token is TOKEN or TOKEN:TURN, and a reader has no turn'}
end
-- Lua's stack has room for 8,000; the call would fail behind the write of the floor.
if #ARGV - 4 > 7900 then
  return {tag, 4, 'a script passes at most 7900 words, and the command has ' .. #ARGV - 4}
end
local floor = redis.call('HMGET', KEYS[1], 'epoch', 'exclusive', 'shared')
local epoch, exclusive, shared = floor[1] or '0', floor[2] or '0', floor[3] or '0'
local same = pass_epoch == epoch
local seen, seen_turn = split(exclusive)
-- What is no token admits none.
local older = not seen or less(token, seen) or (not reader and
  (less(token, shared) or (token == seen and less(turn, seen_turn))))
if less(pass_epoch, epoch) or (same and older) then
  return {tag, 0, epoch, exclusive, shared}
end
if not same then seen, seen_turn, exclusive, shared = '0', '', '0', '0' end
local raised = not same
if reader and less(shared, token) then shared, raised = token, true end
if not reader and (less(seen, token) or less(seen_turn, turn)) then
  exclusive, raised = pass, true
end
if raised then
  redis.call('HSET', KEYS[1], 'epoch', pass_epoch, 'exclusive', exclusive, 'shared', shared)
end
local answer = redis.pcall(unpack(ARGV, 5))
if type(answer) == 'table' and answer.err then return {tag, 3, answer.err} end
if type(answer) == 'number' and (answer >= 2^53 or answer <= -2^53) then
  return {tag, 2, string.format('%.0f', answer)}
end
return {tag, 1, answer}
