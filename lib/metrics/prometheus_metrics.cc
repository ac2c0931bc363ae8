// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/prometheus_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

#include "lib/base/mutex.h"
#include "zkrecipes/session_report.h"

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

constexpr std::array kStates = {
    std::pair{ClientState::kConnected, "connected"},
    std::pair{ClientState::kSuspended, "suspended"},
    std::pair{ClientState::kExpired, "expired"},
    std::pair{ClientState::kClosed, "closed"},
};

// Upper bounds of buckets: in seconds; and in parts of the session timeout, closest where it
// matters.
const Buckets kRoundTrips = {.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5};
const Buckets kRatios = {0, .01, .02, .05, .1, .15, .2, .3, .5, 1};

// The user's labels do not replace the series' own: without one of these its values would be one.
prometheus::Labels With(prometheus::Labels labels, const char* name, const std::string& value) {
  labels.insert_or_assign(name, value);
  return labels;
}

// A counter for each key that has a name, and one for all other keys.
template <typename Key>
class CountersBy {
 public:
  using Names = std::initializer_list<std::pair<Key, const char*>>;
  CountersBy(Family<Counter>& family, const prometheus::Labels& labels, const char* label,
             Names names, const char* other)
      : other_(family.Add(With(labels, label, other))) {
    for (const auto& [key, name] : names) counters_[key] = &family.Add(With(labels, label, name));
  }
  Counter& Of(Key key) const {
    const auto it = counters_.find(key);
    return it == counters_.end() ? other_ : *it->second;
  }

 private:
  std::map<Key, Counter*> counters_;  // not changed after the constructor
  Counter& other_;
};

// The values of `outcome`, beside "granted" and "failed".
constexpr CountersBy<absl::StatusCode>::Names kOutcomes = {
    {absl::StatusCode::kAlreadyExists, "busy"},
    {absl::StatusCode::kDeadlineExceeded, "timeout"},
    {absl::StatusCode::kUnavailable, "unavailable"},
    {absl::StatusCode::kCancelled, "cancelled"},
    // To an operator both are one: the client's credentials do not do.
    {absl::StatusCode::kPermissionDenied, "denied"},
    {absl::StatusCode::kUnauthenticated, "denied"},
    {absl::StatusCode::kResourceExhausted, "exhausted"},
};

// The values of `reason`, beside "deadline". No listener is notified of a release as a loss.
constexpr CountersBy<LeaseEnd>::Names kReasons = {
    {LeaseEnd::kSessionExpired, "expired"},    {LeaseEnd::kNodeDeleted, "deleted"},
    {LeaseEnd::kClientClosed, "closed"},       {LeaseEnd::kNotAlive, "not_alive"},
    {LeaseEnd::kHeldTooLong, "held_too_long"},
};

// The values of `cause`, beside "this_process".
constexpr CountersBy<NoConnection>::Names kCauses = {
    {NoConnection::kNameNotFound, "name_not_found"},
    {NoConnection::kRefused, "refused"},
    {NoConnection::kUnreachable, "unreachable"},
    {NoConnection::kSilent, "silent"},
    {NoConnection::kHungUp, "hung_up"},
    {NoConnection::kNotZooKeeper, "not_zookeeper"},
    {NoConnection::kTls, "tls"},
    {NoConnection::kRejected, "rejected"},
};

Family<Counter>& Counters(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<Gauge>& Gauges(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
Family<Histogram>& Histograms(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// The families of the series about acquires and leases. All are registered with the metrics object,
// so that a clash with a metric of the user's throws there, and not on the I/O thread.
struct Families {
  explicit Families(prometheus::Registry& its_registry) : registry(its_registry) {}

  prometheus::Registry& registry;
  Family<Counter>& acquires =
      Counters(registry, "zkrecipes_acquires_total", "Acquires that have ended, by outcome.");
  Family<Counter>& local_acquires = Counters(registry, "zkrecipes_local_acquires_total",
                                             "Turns of CachedLocks that asked no server.");
  Family<Counter>& losses = Counters(registry, "zkrecipes_leases_lost_total",
                                     "Leases that ended before they were released, by reason.");
  Family<Counter>& places_lost = Counters(registry, "zkrecipes_places_lost_total",
                                          "Places in a queue that went with their session.");
  Family<Counter>& suspects =
      Counters(registry, "zkrecipes_leases_suspect_total", "How often a lease became suspect.");
  Family<Histogram>& wait =
      Histograms(registry, "zkrecipes_wait_seconds", "How long acquires waited for their grant.");
  Family<Histogram>& hold = Histograms(registry, "zkrecipes_hold_seconds",
                                       "How long leases were held until they were released.");
  Family<Gauge>& held = Gauges(registry, "zkrecipes_leases_held", "Leases that are held.");
  Family<Gauge>& position =
      Gauges(registry, "zkrecipes_queue_position", "For how many an acquire waits, as told last.");
  Family<Gauge>& headroom = Gauges(registry, "zkrecipes_sequence_headroom",
                                   "Sequence numbers that are left of the path granted last.");
  Family<Gauge>& partitions =
      Gauges(registry, "zkrecipes_partitions", "Partitions of members in this process, by state.");
  Family<Gauge>& members = Gauges(registry, "zkrecipes_partition_members",
                                  "Members that share them, and those with another list of names.");
};

// The series of one group of paths, which are called at once: prometheus-cpp's counters take no
// lock. Thread-safe.
class GroupSeries : public EventListener {
 public:
  GroupSeries(const Families& families, const PrometheusOptions& options, const std::string& group)
      : families_(families),
        labels_(With(options.labels, "group", group)),
        wait_(families.wait.Add(labels_, Buckets(options.wait_buckets))),
        hold_(families.hold.Add(labels_, Buckets(options.hold_buckets))),
        places_lost_(families.places_lost.Add(labels_)),
        suspects_(families.suspects.Add(labels_)),
        held_(families.held.Add(labels_)),
        position_(families.position.Add(labels_)),
        local_acquires_(families.local_acquires.Add(labels_)),
        grants_(families.acquires.Add(With(labels_, "outcome", "granted"))),
        // All series exist from the beginning: a rate would not see a counter's step from nothing
        // to one.
        outcomes_(families.acquires, labels_, "outcome", kOutcomes, "failed"),
        reasons_(families.losses, labels_, "reason", kReasons, "deadline") {}

  void OnQueued(const std::string&, int waits_for, const std::string&) override {
    position_.Set(waits_for);
  }
  // The position stays: the acquire is queued again, and says where.
  void OnPlaceLost(const std::string&) override { places_lost_.Increment(); }
  void OnGranted(const Sequencer& lease, int64_t, absl::Duration after) override {
    grants_.Increment();
    wait_.Observe(absl::ToDoubleSeconds(after));
    held_.Increment();
    position_.Set(0);
    // Of the path that was granted last: the lowest would need a number for each path.
    // The series begins with the first grant: before that, 0 would be the worst news there is.
    std::call_once(has_headroom_, [this] { headroom_ = &families_.headroom.Add(labels_); });
    headroom_->Set(static_cast<double>(kSequenceEnd - SequenceOf(lease.node)));
  }
  void OnNotGranted(const std::string&, const absl::Status& why, absl::Duration) override {
    position_.Set(0);
    outcomes_.Of(why.code()).Increment();
  }
  void OnSuspect(const Sequencer&) override { suspects_.Increment(); }
  void OnTurns(const Sequencer&, int64_t turns) override {
    local_acquires_.Increment(static_cast<double>(turns));
  }
  // A lease ends by one of these two, and once.
  void OnLost(const Sequencer&, LeaseEnd why) override {
    held_.Decrement();
    reasons_.Of(why).Increment();
  }
  void OnReleased(const Sequencer&, absl::Duration held) override {
    held_.Decrement();
    hold_.Observe(absl::ToDoubleSeconds(held));
  }
  // The series begin with the first report: most groups have no partitions. Members add up, such as
  // one that leaves and its successor: the last report of each is empty.
  void OnPartitions(const std::string&, const PartitionsReport& now,
                    const PartitionsReport& before) override {
    std::call_once(has_partitions_, [this] { AddPartitions(); });
    for (const auto& [count, gauge] : partitions_) gauge->Increment(now.*count - before.*count);
  }

 private:
  void AddPartitions() {
    const auto add = [this](Family<Gauge>& family, const char* label, const char* value,
                            int PartitionsReport::*count) {
      partitions_.emplace_back(count, &family.Add(With(labels_, label, value)));
    };
    add(families_.partitions, "state", "owned", &PartitionsReport::owned);
    add(families_.partitions, "state", "assigned", &PartitionsReport::assigned);
    add(families_.partitions, "state", "waited_for", &PartitionsReport::waited_for);
    add(families_.partitions, "state", "lost", &PartitionsReport::lost);
    add(families_.members, "list", "own", &PartitionsReport::members);
    add(families_.members, "list", "other", &PartitionsReport::other_lists);
  }

  const Families& families_;
  const prometheus::Labels labels_;
  Histogram& wait_;
  Histogram& hold_;
  Counter& places_lost_;
  Counter& suspects_;
  Gauge& held_;
  Gauge& position_;
  Counter& local_acquires_;
  Counter& grants_;
  const CountersBy<absl::StatusCode> outcomes_;
  const CountersBy<LeaseEnd> reasons_;
  std::once_flag has_headroom_;
  Gauge* headroom_ = nullptr;  // not changed after that
  std::once_flag has_partitions_;
  std::vector<std::pair<int PartitionsReport::*, Gauge*>> partitions_;  // not changed after that
};

}  // namespace

namespace internal {

// The series about a client and its sessions. Thread-safe.
class SessionSeries {
 public:
  SessionSeries(std::shared_ptr<prometheus::Registry> registry, const prometheus::Labels& labels)
      : registry_(std::move(registry)), labels_(labels) {}

  void OnReport(const SessionReport& report) {
    // Nothing has been answered: there is no round trip, and no news of the session.
    if (!report.trouble.empty()) {
      for (const NoConnection cause : report.causes) no_connection_.Of(cause).Increment();
      return;
    }
    round_trip_.Observe(absl::ToDoubleSeconds(report.round_trip));
    const std::string session = std::to_string(report.index);
    // A family gives the same series for the same labels: nothing has to be remembered here.
    path_bytes_.Add(Labels({{"session", session}, {"of", "nodes"}}))
        .Set(static_cast<double>(report.node_bytes));
    path_bytes_.Add(Labels({{"session", session}, {"of", "watches"}}))
        .Set(static_cast<double>(report.watch_bytes));
    if (report.least_left.has_value()) {
      margin_ratio_.Observe(absl::FDivDuration(*report.least_left, report.timeout));
    }
    base::MutexLock lock(mutex_);
    // Reports of several sessions come in any order, and their indices are not reused for less.
    count_ = std::max(count_, report.index + 1);
    sessions_.Set(count_);
    if (!report.least_left.has_value()) return;
    // The series begins with the first margin: before that, 0 would be the worst news there is.
    const double margin = absl::ToDoubleSeconds(*report.least_left);
    const bool first = lowest_ == nullptr;
    if (first) lowest_ = &lowest_margin_.Add(labels_);
    if (first || margin < lowest_->Value()) lowest_->Set(margin);
  }

  void OnState(ClientState state) {
    for (const auto& [each, name] : kStates) {
      state_.Add(Labels({{"state", name}})).Set(each == state ? 1 : 0);
      if (each == state) states_.Add(Labels({{"state", name}})).Increment();
    }
  }

 private:
  // As With.
  prometheus::Labels Labels(prometheus::Labels more) const {
    more.insert(labels_.begin(), labels_.end());
    return more;
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  const prometheus::Labels labels_;
  Histogram& round_trip_ = Histograms(*registry_, "zkrecipes_session_round_trip_seconds",
                                      "Round trips of a sample of the requests.")
                               .Add(labels_, kRoundTrips);
  Histogram& margin_ratio_ = Histograms(*registry_, "zkrecipes_deadline_margin_ratio",
                                        "What was left of the deadline that leases rest on when it "
                                        "was extended, by session timeouts.")
                                 .Add(labels_, kRatios);
  Gauge& sessions_ = Gauges(*registry_, "zkrecipes_sessions",
                            "Sessions that the client has opened, of 32 at most.")
                         .Add(labels_);
  Family<Gauge>& lowest_margin_ = Gauges(*registry_, "zkrecipes_deadline_margin_lowest_seconds",
                                         "The least that was ever left of such a deadline.");
  Family<Gauge>& path_bytes_ =
      Gauges(*registry_, "zkrecipes_session_path_bytes",
             "Bytes of paths in a session's nodes and watches, of 524288 each.");
  Family<Gauge>& state_ = Gauges(*registry_, "zkrecipes_client_state",
                                 "1 for the client's current state, 0 for the others.");
  Family<Counter>& states_ = Counters(*registry_, "zkrecipes_client_state_changes_total",
                                      "How often the client came into this state.");
  const CountersBy<NoConnection> no_connection_{
      Counters(*registry_, "zkrecipes_no_connection_total",
               "Session timeouts without a connection, by what was in the way."),
      labels_, "cause", kCauses, "this_process"};
  base::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  // Null until there is a margin.
  Gauge* lowest_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace internal

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
      if (std::ssize(groups_) >= options_.max_groups) name = "other";
      // "other" may be there already.
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
  // Nothing is erased: recipes keep what AtOnce returned, and call it without this mutex.
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
