// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_REDIS_SCRIPT_H_
#define ZKRECIPES_LIB_FENCING_REDIS_SCRIPT_H_

namespace zkrecipes::fencing::redis {

// KEYS: the floor, then what the command touches. ARGV: epoch, token, "1" for a reader; then the
// command. Gives {1, answer}, or {0, epoch, exclusive, shared} of a floor that refuses.
//
// Lua's numbers are doubles, exact to 2^53 only, and tokens are larger: they are compared as text.
// None has a sign or a leading zero, so a longer one is higher. The floor is raised first: a
// command that then fails has written nothing, and its holder was admitted.
inline constexpr char kRedisScript[] = R"lua(
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local floor = redis.call('HMGET', KEYS[1], 'epoch', 'exclusive', 'shared')
local epoch, exclusive, shared = floor[1] or '0', floor[2] or '0', floor[3] or '0'
local pass_epoch, token, reader = ARGV[1], ARGV[2], ARGV[3] == '1'
local same = pass_epoch == epoch
local older = less(token, exclusive) or (not reader and less(token, shared))
if less(pass_epoch, epoch) or (same and older) then
  return {0, epoch, exclusive, shared}
end
if not same then exclusive, shared = '0', '0' end
local raised = not same
if reader and less(shared, token) then shared, raised = token, true end
if not reader and less(exclusive, token) then exclusive, raised = token, true end
if raised then
  redis.call('HSET', KEYS[1], 'epoch', pass_epoch, 'exclusive', exclusive, 'shared', shared)
end
local answer = redis.pcall(unpack(ARGV, 4))
if type(answer) == 'table' and answer.err then return answer end
return {1, answer}
)lua";

// Its SHA-1, by which Redis knows it: RedisTest.KnowsItsScriptByItsHash says if it is out of date.
inline constexpr char kRedisScriptHash[] = "46777ee754d3f8a005e25916cd32b717191e3c14";

}  // namespace zkrecipes::fencing::redis

#endif  // ZKRECIPES_LIB_FENCING_REDIS_SCRIPT_H_
