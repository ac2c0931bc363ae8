// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/prometheus_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

#include "lib/base/mutex.h"
#include "lib/metrics/session_series.h"

namespace zkrecipes {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

// Contenders are refused from this number on. lib/queue has it too, but an installed shared library
// does not export it; a test compares the two.
constexpr int64_t kSequenceEnd = (int64_t{1} << 31) - 1 - (1 << 20);

// The number that a contender's name ends with; 0 if it ends with none, which overstates the
// headroom: a name without a number is not of this library's making.
int64_t SequenceOf(absl::string_view node) {
  constexpr size_t kDigits = 10;
  if (node.size() < kDigits) return 0;
  const absl::string_view number = node.substr(node.size() - kDigits);
  int64_t sequence = 0;
  const bool digits = std::ranges::all_of(number, absl::ascii_isdigit);
  return digits && absl::SimpleAtoi(number, &sequence) ? sequence : 0;
}

absl::string_view Parent(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

prometheus::Labels With(prometheus::Labels labels, const char* name, const std::string& value) {
  labels.emplace(name, value);
  return labels;
}

// The values of `outcome`, beside "granted".
constexpr const char* kOutcomes[] = {"busy",   "timeout",   "unavailable", "cancelled",
                                     "denied", "exhausted", "failed"};
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
constexpr const char* kReasons[] = {"deadline", "expired",   "deleted",
                                    "closed",   "not_alive", "held_too_long"};
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
    case LeaseEnd::kReleased:  // no listener is notified of it as a loss
    case LeaseEnd::kDeadlinePassed:
      break;
  }
  return "deadline";
}

// The families of the series about acquires and leases.
struct Families {
  explicit Families(prometheus::Registry& its_registry) : registry(its_registry) {}

  Family<Counter>& Counters(const char* name, const char* help) const {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Family<Gauge>& Gauges(const char* name, const char* help) const {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Family<Histogram>& Histograms(const char* name, const char* help) const {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }

  prometheus::Registry& registry;
  Family<Counter>& acquires =
      Counters("zkrecipes_acquires_total", "Acquires that have ended, by outcome.");
  Family<Counter>& losses = Counters("zkrecipes_leases_lost_total",
                                     "Leases that ended before they were released, by reason.");
  Family<Counter>& places_lost =
      Counters("zkrecipes_places_lost_total", "Places in a queue that went with their session.");
  Family<Counter>& suspects =
      Counters("zkrecipes_leases_suspect_total", "How often a lease became suspect.");
  Family<Counter>& held_too_long =
      Counters("zkrecipes_leases_held_too_long_total", "Leases that went on beyond hold_at_most.");
  Family<Histogram>& wait =
      Histograms("zkrecipes_wait_seconds", "How long acquires waited for their grant.");
  Family<Histogram>& hold =
      Histograms("zkrecipes_hold_seconds", "How long leases were held until they were released.");
  Family<Gauge>& held = Gauges("zkrecipes_leases_held", "Leases that are held.");
  Family<Gauge>& position =
      Gauges("zkrecipes_queue_position", "For how many an acquire waits, as told last.");
  Family<Gauge>& headroom = Gauges("zkrecipes_sequence_headroom",
                                   "Sequence numbers that are left of the path granted last.");
};

// The series of one group of paths, which are called at once: prometheus-cpp's counters take no
// lock. Thread-safe.
class GroupSeries : public EventListener {
 public:
  GroupSeries(const Families& families, const PrometheusOptions& options, const std::string& group)
      : labels_(With(options.labels, "group", group)),
        wait_(families.wait.Add(labels_, Buckets(options.wait_buckets))),
        hold_(families.hold.Add(labels_, Buckets(options.hold_buckets))),
        places_lost_(families.places_lost.Add(labels_)),
        suspects_(families.suspects.Add(labels_)),
        held_too_long_(families.held_too_long.Add(labels_)),
        held_(families.held.Add(labels_)),
        position_(families.position.Add(labels_)),
        headroom_(families.headroom.Add(labels_)),
        grants_(families.acquires.Add(With(labels_, "outcome", "granted"))) {
    // All series exist from the beginning: a rate would not see a counter's step from nothing to
    // one.
    for (const char* outcome : kOutcomes) {
      outcomes_[outcome] = &families.acquires.Add(With(labels_, "outcome", outcome));
    }
    for (const char* reason : kReasons) {
      reasons_[reason] = &families.losses.Add(With(labels_, "reason", reason));
    }
  }

  void OnQueued(const std::string&, int waits_for, const std::string&) override {
    position_.Set(waits_for);
  }
  void OnPlaceLost(const std::string&) override { places_lost_.Increment(); }
  void OnGranted(const Sequencer& lease, int64_t, absl::Duration after) override {
    grants_.Increment();
    wait_.Observe(absl::ToDoubleSeconds(after));
    held_.Increment();
    position_.Set(0);
    headroom_.Set(static_cast<double>(kSequenceEnd - SequenceOf(lease.node)));
  }
  void OnNotGranted(const std::string&, const absl::Status& why, absl::Duration) override {
    position_.Set(0);
    outcomes_.at(OutcomeOf(why))->Increment();
  }
  void OnSuspect(const Sequencer&) override { suspects_.Increment(); }
  void OnHeldTooLong(const Sequencer&, absl::Duration) override { held_too_long_.Increment(); }
  void OnLost(const Sequencer&, LeaseEnd why) override {
    held_.Decrement();
    reasons_.at(ReasonOf(why))->Increment();
  }
  void OnReleased(const Sequencer&, absl::Duration held) override {
    held_.Decrement();
    hold_.Observe(absl::ToDoubleSeconds(held));
  }

 private:
  const prometheus::Labels labels_;
  Histogram& wait_;
  Histogram& hold_;
  Counter& places_lost_;
  Counter& suspects_;
  Counter& held_too_long_;
  Gauge& held_;
  Gauge& position_;
  Gauge& headroom_;
  Counter& grants_;
  std::map<std::string, Counter*> outcomes_, reasons_;  // not changed after the constructor
};

}  // namespace

// The series of each group, which are made with the group's first recipe.
class PrometheusMetrics::Groups {
 public:
  Groups(std::shared_ptr<prometheus::Registry> registry, PrometheusOptions options)
      : registry_(std::move(registry)), families_(*registry_), options_(std::move(options)) {}

  GroupSeries& Of(const std::string& path) {
    return options_.group == nullptr ? Named(Parent(path)) : Named(options_.group(path));
  }

 private:
  GroupSeries& Named(absl::string_view name) {
    base::MutexLock lock(mutex_);
    auto at = groups_.find(name);
    if (at == groups_.end()) {
      // A label with an unbounded number of values would fill the memory of whoever scrapes it.
      if (groups_.size() >= static_cast<size_t>(options_.max_groups)) name = "other";
      at = groups_.try_emplace(name).first;
      if (at->second == nullptr) {
        at->second = std::make_unique<GroupSeries>(families_, options_, std::string(name));
      }
    }
    return *at->second;
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  const Families families_;
  const PrometheusOptions options_;
  base::Mutex mutex_;
  // Nothing is erased: recipes keep what AtOnce returned.
  absl::flat_hash_map<std::string, std::unique_ptr<GroupSeries>> groups_ ABSL_GUARDED_BY(mutex_);
};

PrometheusMetrics::PrometheusMetrics(std::shared_ptr<prometheus::Registry> registry,
                                     PrometheusOptions options)
    : sessions_(std::make_shared<internal::SessionSeries>(registry, options.labels)),
      groups_(std::make_unique<Groups>(std::move(registry), std::move(options))) {}

PrometheusMetrics::~PrometheusMetrics() = default;

std::function<void(const SessionReport&)> PrometheusMetrics::SessionReports() const {
  return [sessions = sessions_](const SessionReport& report) { sessions->OnReport(report); };
}

Subscription PrometheusMetrics::Follow(Client& client) const {
  return client.OnStateChange(
      [sessions = sessions_](ClientState state) { sessions->OnState(state); });
}

EventListener* PrometheusMetrics::AtOnce(const std::string& path) { return &groups_->Of(path); }

}  // namespace zkrecipes
