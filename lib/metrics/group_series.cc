// SPDX-License-Identifier: Apache-2.0

#include "lib/metrics/group_series.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::internal {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

Family<Counter>& Counters(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Gauge>& Gauges(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
Family<prometheus::Histogram>& Histograms(prometheus::Registry& registry, const char* name,
                                          const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// All at once: one by one they were the most that a grant's metrics took.
std::optional<int64_t> EightDigits(const char* text) {
  uint64_t digits = 0;  // a byte each, the first in the lowest
  std::memcpy(&digits, text, sizeof(digits));
  if constexpr (std::endian::native == std::endian::big) digits = __builtin_bswap64(digits);
  digits ^= 0x3030303030303030;
  if (((digits | (digits + 0x0606060606060606)) & 0xf0f0f0f0f0f0f0f0) != 0) return std::nullopt;
  const uint64_t pairs = (10 * digits + (digits >> 8)) & 0x00ff00ff00ff00ff;
  const uint64_t fours = (100 * pairs + (pairs >> 16)) & 0x0000ffff0000ffff;
  return static_cast<uint32_t>(10000 * fours + (fours >> 32));
}

// Of a name's last ten digits; 0 if they are none.
int64_t SequenceOf(absl::string_view node) {
  constexpr size_t kDigits = 10;
  if (node.size() < kDigits) return 0;
  const char* const number = node.data() + node.size() - kDigits;
  const auto last = EightDigits(number + 2);
  const bool digits = last && absl::ascii_isdigit(number[0]) && absl::ascii_isdigit(number[1]);
  if (!digits) return 0;
  return (10 * (number[0] - '0') + (number[1] - '0')) * int64_t{100'000'000} + *last;
}

prometheus::Labels With(prometheus::Labels labels, const char* name, const std::string& value) {
  labels.emplace(name, value);
  return labels;
}

// The values of `outcome`.
const char* OutcomeOf(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kAlreadyExists:
      return "busy";
    case absl::StatusCode::kDeadlineExceeded:
      return "timeout";
    case absl::StatusCode::kUnavailable:
      return "unavailable";
    case absl::StatusCode::kCancelled:
      return "cancelled";
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return "denied";
    case absl::StatusCode::kResourceExhausted:
      return "exhausted";
    default:
      return "failed";
  }
}

// The values of `reason`.
const char* ReasonOf(LeaseEnd why) {
  switch (why) {
    case LeaseEnd::kSessionExpired:
      return "expired";
    case LeaseEnd::kNodeDeleted:
      return "deleted";
    case LeaseEnd::kClientClosed:
      return "closed";
    case LeaseEnd::kNotAlive:
      return "not_alive";
    case LeaseEnd::kHeldTooLong:
      return "held_too_long";
    case LeaseEnd::kReleased:  // is never told as a loss
    case LeaseEnd::kDeadlinePassed:
      break;
  }
  return "deadline";
}

}  // namespace

GroupFamilies::GroupFamilies(std::shared_ptr<prometheus::Registry> its_registry,
                             const PrometheusOptions& options)
    : registry(std::move(its_registry)),
      labels(options.labels),
      wait_buckets(options.wait_buckets),
      hold_buckets(options.hold_buckets),
      acquires(
          Counters(*registry, "zkrecipes_acquires_total", "Acquires that have ended, by outcome.")),
      losses(Counters(*registry, "zkrecipes_leases_lost_total",
                      "Leases that ended before they were released, by reason.")),
      places_lost(Counters(*registry, "zkrecipes_places_lost_total",
                           "Places in a queue that went with their session.")),
      suspects(Counters(*registry, "zkrecipes_leases_suspect_total",
                        "How often a lease became suspect.")),
      held_too_long(Counters(*registry, "zkrecipes_leases_held_too_long_total",
                             "Leases that went on beyond hold_at_most.")),
      wait(Histograms(*registry, "zkrecipes_wait_seconds",
                      "How long acquires waited for their grant.")),
      hold(Histograms(*registry, "zkrecipes_hold_seconds",
                      "How long leases were held until they were released.")),
      held(Gauges(*registry, "zkrecipes_leases_held", "Leases that are held.")),
      position(Gauges(*registry, "zkrecipes_queue_position",
                      "For how many an acquire waits, as told last.")),
      headroom(Gauges(*registry, "zkrecipes_sequence_headroom",
                      "Sequence numbers that are left of the path granted last.")) {}

GroupSeries::GroupSeries(GroupFamilies& families, const std::string& group)
    : labels_(With(families.labels, "group", group)),
      outcomes_(ByLabel(families.acquires, labels_, "outcome",
                        {"granted", "busy", "timeout", "unavailable", "cancelled", "denied",
                         "exhausted", "failed"})),
      reasons_(ByLabel(families.losses, labels_, "reason",
                       {"deadline", "expired", "deleted", "closed", "not_alive", "held_too_long"})),
      grants_(*outcomes_.at("granted")),
      places_lost_(families.places_lost.Add(labels_)),
      suspects_(families.suspects.Add(labels_)),
      held_too_long_(families.held_too_long.Add(labels_)),
      wait_(families.wait.Add(labels_, families.wait_buckets)),
      hold_(families.hold.Add(labels_, families.hold_buckets)),
      held_(families.held.Add(labels_)),
      position_(families.position.Add(labels_)),
      headroom_(families.headroom.Add(labels_)) {}

GroupSeries::Counters GroupSeries::ByLabel(Family<Counter>& family,
                                           const prometheus::Labels& labels, const char* name,
                                           const std::vector<const char*>& values) {
  Counters counters;
  for (const char* value : values) counters[value] = &family.Add(With(labels, name, value));
  return counters;
}

void GroupSeries::OnQueued(const std::string& /*path*/, int waits_for,
                           const std::string& /*behind*/) {
  position_.Set(waits_for);
}
void GroupSeries::OnPlaceLost(const std::string& /*path*/) { places_lost_.Increment(); }

void GroupSeries::OnGranted(const Sequencer& lease, int64_t /*session*/, absl::Duration after) {
  grants_.Increment();
  wait_.Observe(absl::ToDoubleSeconds(after));
  held_.Increment();
  position_.Set(0);
  headroom_.Set(static_cast<double>(kSequenceEnd - SequenceOf(lease.node)));
}

void GroupSeries::OnNotGranted(const std::string& /*path*/, const absl::Status& why,
                               absl::Duration /*after*/) {
  position_.Set(0);
  outcomes_.at(OutcomeOf(why))->Increment();
}

void GroupSeries::OnSuspect(const Sequencer& /*lease*/) { suspects_.Increment(); }
void GroupSeries::OnHeldTooLong(const Sequencer& /*lease*/, absl::Duration /*held*/) {
  held_too_long_.Increment();
}

void GroupSeries::OnLost(const Sequencer& /*lease*/, LeaseEnd why) {
  held_.Decrement();
  reasons_.at(ReasonOf(why))->Increment();
}

void GroupSeries::OnReleased(const Sequencer& /*lease*/, absl::Duration held) {
  held_.Decrement();
  hold_.Observe(absl::ToDoubleSeconds(held));
}

}  // namespace zkrecipes::internal
