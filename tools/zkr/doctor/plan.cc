// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr int kLeastTicks = 2;
constexpr int kMostTicks = 20;
constexpr absl::Duration kLongestTimeout = absl::Hours(24);

absl::Duration TimeoutFor(absl::Duration pause) {
  absl::Duration timeout = absl::Seconds(1);
  // Seconds, as people write timeouts; a day's worth of steps at most.
  while (LeaseLeftOf(timeout).least < pause && timeout < kLongestTimeout)
    timeout += absl::Seconds(1);
  return timeout;
}

}  // namespace

Plan PlanFor(const PlanInput& input) {
  Plan plan;
  // Servers clamp what is asked for; with other limits in their configuration they clamp elsewhere.
  plan.granted =
      std::clamp(input.session_timeout, kLeastTicks * input.tick, kMostTicks * input.tick);
  const LeaseLeft left = LeaseLeftOf(plan.granted);
  plan.lease_most = left.most;
  plan.lease_least = left.least;
  // The leader counts from when it last heard of the session, which asks something every third of T
  // at the least; it hears from a follower every half tick, and looks at whole ticks.
  plan.failover_least = plan.granted * 2 / 3;
  plan.failover_most = plan.granted + input.tick * 3 / 2;
  plan.silent_server = input.sync_limit * input.tick;
  plan.pause_fits = input.pause <= plan.lease_least;
  plan.timeout_for_pause = std::max(TimeoutFor(input.pause), kLeastTicks * input.tick);
  plan.limits_fit = plan.timeout_for_pause <= kMostTicks * input.tick;
  return plan;
}

std::string PlanText(const PlanInput& input) {
  const Plan plan = PlanFor(input);
  std::string text =
      Paragraph("planned", absl::StrCat("session timeout ", Short(input.session_timeout), ", tick ",
                                        Short(input.tick), ", syncLimit ", input.sync_limit,
                                        " ticks = ", Short(plan.silent_server),
                                        ", pauses of up to ", Short(input.pause)));
  if (plan.granted != input.session_timeout) {
    text += Paragraph("clamped", absl::StrCat("servers grant ", Short(plan.granted),
                                              ": 2 ticks = ", Short(kLeastTicks * input.tick),
                                              " to 20 ticks = ", Short(kMostTicks * input.tick)));
  }
  text += Paragraph("lease", absl::StrCat("lasts ", Short(plan.lease_least), " to ",
                                          Short(plan.lease_most), " without answers"));
  text += Paragraph("failover",
                    absl::StrCat("the lock of a holder that crashes is free after ",
                                 Short(plan.failover_least), " to ", Short(plan.failover_most),
                                 "; of one that releases, "
                                 "at once"));
  text += Paragraph(
      "", absl::StrCat("a leader that falls silent is given up after ", Short(plan.silent_server),
                       plan.lease_least >= plan.silent_server
                           ? ": leases outlast that"
                           : ": leases that are held then may be lost"));
  // No pause was given: nothing to compare a lease with.
  if (input.pause <= absl::ZeroDuration()) return text;
  if (plan.pause_fits) return text + Paragraph("pause", Short(input.pause) + " costs no lease");
  text += Paragraph("pause", absl::StrCat(Short(input.pause), " may cost the lease"));
  text += Paragraph("", absl::StrCat("-> --session-timeout ", Short(plan.timeout_for_pause)));
  // The timeout that is needed is longer than servers grant by default.
  if (plan.limits_fit) return text;
  return text +
         Paragraph("", absl::StrCat("-> and the servers' maxSessionTimeout at least that, or "
                                    "a tickTime of ",
                                    Short(plan.timeout_for_pause / kMostTicks), " or more"));
}

std::string PlanJson(const PlanInput& input) {
  const Plan plan = PlanFor(input);
  const auto ms = [](absl::Duration d) { return absl::ToInt64Milliseconds(d); };
  return JsonLine({{"session_timeout_ms", ms(plan.granted)},
                   {"lease_least_ms", ms(plan.lease_least)},
                   {"lease_most_ms", ms(plan.lease_most)},
                   {"failover_least_ms", ms(plan.failover_least)},
                   {"failover_most_ms", ms(plan.failover_most)},
                   {"silent_server_ms", ms(plan.silent_server)},
                   {"pause_fits", plan.pause_fits},
                   {"session_timeout_for_pause_ms", ms(plan.timeout_for_pause)}});
}

}  // namespace zkrecipes::zkr::doctor
