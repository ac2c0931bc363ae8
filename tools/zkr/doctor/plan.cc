// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/doctor.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr int kLeastTicks = 2;
constexpr int kMostTicks = 20;
constexpr absl::Duration kLongestTimeout = absl::Hours(24);
// Part of T in which a client that was cut off is connected again: it pauses between its attempts.
constexpr int kReconnected = 10;
// Until another leader commits, once the followers have given one up: docs/faults.md.
constexpr absl::Duration kElection = absl::Seconds(3);

absl::Duration TimeoutFor(const PlanInput& input) {
  absl::Duration timeout = absl::Seconds(1);
  // Seconds, as people write timeouts; a day's worth of steps at most.
  while (LeaseLeftOf(timeout, input.pace).least < input.pause && timeout < kLongestTimeout)
    timeout += absl::Seconds(1);
  return timeout;
}

const char* Word(LeaseOptions::Pace pace) {
  return pace == LeaseOptions::Pace::kSteady ? "steady" : "sparse";
}

// "1.3", "133"
std::string Rate(double rate) {
  return rate < 10 ? absl::StrFormat("%.2g", rate) : absl::StrFormat("%.0f", rate);
}

std::string OutlivesText(const Plan& plan) {
  const std::string leader =
      absl::StrCat("a leader that hangs: ", plan.outlives_hung_leader ? "yes" : "no",
                   ", its followers notice after ", Short(plan.silent_server));
  return absl::StrCat("every server silent for ", Short(plan.silence), "; ", leader);
}

}  // namespace

Plan PlanFor(const PlanInput& input) {
  Plan plan;
  // Servers clamp what is asked for; with other limits in their configuration they clamp elsewhere.
  plan.granted =
      std::clamp(input.session_timeout, kLeastTicks * input.tick, kMostTicks * input.tick);
  const LeaseLeft left = LeaseLeftOf(plan.granted, input.pace);
  plan.lease_most = left.most;
  plan.lease_least = left.least;
  plan.silence = std::max(left.least - plan.granted / kReconnected, absl::ZeroDuration());
  plan.writes = left.writes * input.holders;
  // The leader counts from when it last heard of the session, which asks something every third of T
  // at the least; it hears from a follower every half tick, and looks at whole ticks.
  plan.failover_least = plan.granted * 2 / 3;
  plan.failover_most = plan.granted + input.tick * 3 / 2;
  plan.silent_server = input.sync_limit * input.tick;
  plan.outlives_hung_leader = plan.silence >= plan.silent_server + kElection;
  plan.pause_fits = input.pause <= plan.lease_least;
  plan.timeout_for_pause = std::max(TimeoutFor(input), kLeastTicks * input.tick);
  plan.limits_fit = plan.timeout_for_pause <= kMostTicks * input.tick;
  return plan;
}

std::string PlanText(const PlanInput& input) {
  const Plan plan = PlanFor(input);
  std::string text = Paragraph("planned", "session timeout ", Short(input.session_timeout),
                               ", tick ", Short(input.tick), ", syncLimit ", input.sync_limit,
                               " ticks = ", Short(plan.silent_server), ", pace ", Word(input.pace),
                               ", pauses of up to ", Short(input.pause));
  if (plan.granted != input.session_timeout) {
    text += Paragraph("clamped", "servers grant ", Short(plan.granted),
                      ": 2 ticks = ", Short(kLeastTicks * input.tick),
                      " to 20 ticks = ", Short(kMostTicks * input.tick));
  }
  if (plan.lease_most == absl::ZeroDuration()) {
    return text + Paragraph("lease", "none: with so short a session timeout none can be proven");
  }
  text += Paragraph("lease", "lasts ", Short(plan.lease_least), " to ", Short(plan.lease_most),
                    " without answers");
  text += Paragraph("outlives", OutlivesText(plan));
  text += Paragraph("costs", Rate(plan.writes), " writes a second: ", input.holders,
                    input.holders == 1 ? " session holds" : " sessions hold");
  text += Paragraph("failover", "the lock of a holder that crashes is free after ",
                    Short(plan.failover_least), " to ", Short(plan.failover_most),
                    "; of one that releases, at once");
  // No pause was given: nothing to compare a lease with.
  if (input.pause <= absl::ZeroDuration()) return text;
  if (plan.pause_fits) return text + Paragraph("pause", Short(input.pause) + " costs no lease");
  text += Paragraph("pause", Short(input.pause), " may cost the lease");
  text += Paragraph("", "-> --session-timeout ", Short(plan.timeout_for_pause));
  // The timeout that is needed is longer than servers grant by default.
  if (plan.limits_fit) return text;
  return text + Paragraph("",
                          "-> and the servers' maxSessionTimeout at least that, or "
                          "a tickTime of ",
                          Short(plan.timeout_for_pause / kMostTicks), " or more");
}

std::string PlanJson(const PlanInput& input) {
  const Plan plan = PlanFor(input);
  const auto ms = [](absl::Duration d) { return absl::ToInt64Milliseconds(d); };
  return JsonLine({{"session_timeout_ms", ms(plan.granted)},
                   {"lease_least_ms", ms(plan.lease_least)},
                   {"lease_most_ms", ms(plan.lease_most)},
                   {"pace", Word(input.pace)},
                   {"silence_ms", ms(plan.silence)},
                   {"outlives_hung_leader", plan.outlives_hung_leader},
                   {"writes_per_second", plan.writes},
                   {"failover_least_ms", ms(plan.failover_least)},
                   {"failover_most_ms", ms(plan.failover_most)},
                   {"silent_server_ms", ms(plan.silent_server)},
                   {"pause_fits", plan.pause_fits},
                   {"session_timeout_for_pause_ms", ms(plan.timeout_for_pause)}});
}

}  // namespace zkrecipes::zkr::doctor
