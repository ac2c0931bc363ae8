// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/sessions.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::session::client {

Sessions::Sessions(Environment environment, Options options)
    : environment_(std::move(environment)), options_(std::move(options)) {
  Add(/*apart=*/"");
  // The first session counts at once: the client is suspended until it is connected. A further one
  // counts from its first connection on, so that it does not suspend a client that works.
  members_.front()->counts = true;
}

Sessions::~Sessions() = default;

Session* Sessions::Add(std::string apart) {
  members_.push_back(std::make_unique<Member>());
  Member& member = *members_.back();
  member.apart = std::move(apart);
  Session::Options options = options_.each;
  if (members_.size() > 1) {
    options.servers.servers = first()->servers();  // the newest, perhaps the ensemble's own
    options.reach = std::make_shared<Reach>(environment_.reactor->Now());
    options.client_goes_on = [this] { return first()->failed().ok(); };
  }
  options.on_change = [this, &member](Change change) { OnChange(member, change); };
  if (options.on_report != nullptr) {
    options.on_report = [index = static_cast<int>(members_.size()) - 1,
                         &report = options_.each.on_report](SessionReport of_one) {
      of_one.index = index;
      report(of_one);
    };
  }
  member.session = std::make_unique<Session>(environment_.reactor, environment_.factory,
                                             environment_.resolver, std::move(options));
  if (options_.follow_config) {
    member.follower =
        std::make_unique<ConfigFollower>(environment_.reactor.get(), member.session.get());
    member.follower->Start();
  }
  return member.session.get();
}

void Sessions::Start() {
  first()->Start();
  FollowOutage();
}

// ---- which one ----------------------------------------------------------------------------------

Session* Sessions::WithRoom(const std::string& parent, size_t node_bytes, size_t watch_bytes) {
  if (!first()->failed().ok()) return first();  // its end is the client's
  const std::string apart = IsApart(parent) ? parent : "";
  // The first with room, so that few sessions are opened, and one that has emptied is used again.
  Session* beside = nullptr;
  Session* refused = nullptr;
  for (const auto& member : members_) {
    Session& session = *member->session;
    if (session.ends_soon() || !session.ephemeral_budget().Fits(node_bytes) ||
        !session.watch_budget().Fits(watch_bytes)) {
      continue;
    }
    // One that has emptied changes sides. Not the first: its end is the client's.
    const bool empty = session.ephemeral_budget().used() == 0 && session.watch_budget().used() == 0;
    if (empty && &session != first()) member->apart = apart;
    if (&session != first() && !session.failed().ok()) {
      if (member->apart == apart) refused = &session;
      continue;
    }
    if (member->apart == apart) return &session;
    // A path that is apart would take the session from those that count on it.
    if (apart.empty() || !member->apart.empty()) beside = &session;
  }
  if (close_begun_) return first();  // which says so
  if (refused != nullptr) return TryAgain(refused);
  // A session with more than its budget could not set its watches again after a reconnection.
  if (members_.size() == kMost) return beside;
  Session* const session = Add(apart);
  session->Start();
  FollowOutage();
  return session;
}

// The client goes on by its first session. So a further one that was refused for good is for the
// contenders that it had then. Meanwhile it has not heard of a new config of the ensemble's.
Session* Sessions::TryAgain(Session* refused) {
  refused->SetServers(first()->servers());
  refused->TryAgain();
  FollowOutage();
  return refused;
}

void Sessions::SetApart(const std::string& parent) {
  if (apart_.size() >= kMostApart) apart_.clear();  // each is found out again
  apart_.insert(parent);
}

// A contender that follows a lease must be in its session: the two must end together.
Session* Sessions::Of(zk::SessionId id) {
  for (const auto& member : members_) {
    // Not found: it has expired, and with it everything in it.
    if (member->session->id() == id) return member->session.get();
  }
  return nullptr;
}

// ---- all of them --------------------------------------------------------------------------------

bool Sessions::connected() const {
  return std::ranges::all_of(
      members_, [](const auto& member) { return !member->counts || member->session->connected(); });
}

absl::Status Sessions::trouble() const {
  for (const auto& member : members_) {
    if (member->counts && !member->session->trouble().ok()) return member->session->trouble();
  }
  return absl::OkStatus();
}

void Sessions::SetServers(const std::vector<zk::ServerAddress>& servers) {
  for (const auto& member : members_) member->session->SetServers(servers);
}

void Sessions::SetCredentials(base::Secrets all) {
  options_.each.handle.digest_credentials = std::move(all);
  for (const auto& member : members_) {
    member->session->SetCredentials(options_.each.handle.digest_credentials);
  }
}

void Sessions::AddCredential(const base::Secret& credential) {
  base::Secrets all = options_.each.handle.digest_credentials;
  if (std::ranges::count(all, credential) > 0) return;
  all.push_back(credential);
  SetCredentials(std::move(all));
}

void Sessions::OnChange(Member& member, Change change) {
  const bool further = &member != members_.front().get();
  if (change == Change::kConnected) member.counts = true;
  const bool counted = member.counts;
  // A further session that fails takes only its own contenders with it.
  if (change == Change::kFailed && further) member.counts = false;
  // An end that this client asks for ends no lease. The first session tells of it: it has the
  // client's session id.
  const bool ends = change == Change::kSuspended && member.session->unneeded() && further;
  if (ends) member.counts = false;
  FollowOutage();
  if (!counted || ends) return;
  const ClientState before = state_;
  state_ = StateAfter(member, change);
  options_.on_change(change, state_ != before ? std::optional(state_) : std::nullopt);
}

ClientState Sessions::StateAfter(const Member& member, Change change) const {
  if (state_ == ClientState::kClosed) return state_;
  switch (change) {
    case Change::kTrouble:
      return state_;
    case Change::kConnected:
      return connected() ? ClientState::kConnected : state_;
    case Change::kSuspended:
      return ClientState::kSuspended;
    case Change::kExpired:
      return ClientState::kExpired;
    case Change::kFailed:
    case Change::kClosed:
      if (&member == members_.front().get()) return ClientState::kClosed;
      return change == Change::kFailed && connected() ? ClientState::kConnected : state_;
  }
  return state_;
}

// ---- sessions without a connection --------------------------------------------------------------

std::optional<size_t> Sessions::LongestCutOff() const {
  std::optional<size_t> longest;
  base::BootTime earliest = base::BootTime::InfiniteFuture();
  for (size_t i = 0; i < members_.size(); ++i) {
    // A further one that is refused for good is past: its acquires have failed, and others go on.
    if (i > 0 && !members_[i]->session->failed().ok()) continue;
    const auto since = members_[i]->session->reach()->cut_off_since();
    if (!since || *since >= earliest) continue;
    earliest = *since;
    longest = i;
  }
  return longest;
}

// One timer, however many sessions there are and however often each loses its connection: it goes
// on while any of them has none, and finds out itself whether there is something to report.
void Sessions::FollowOutage() {
  if (options_.each.on_report == nullptr || outage_timer_runs_ || close_begun_) return;
  const std::optional<size_t> index = LongestCutOff();
  if (!index) return;
  outage_timer_runs_ = true;
  const Session& session = *members_[*index]->session;
  const base::BootTime due =
      std::max(*session.reach()->cut_off_since(), outage_reported_) + session.timeout();
  environment_.reactor->CallAt(due, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    outage_timer_runs_ = false;
    ReportOutage();
    FollowOutage();
  });
}

void Sessions::ReportOutage() {
  const std::optional<size_t> index = LongestCutOff();
  if (!index || close_begun_) return;
  const Session& session = *members_[*index]->session;
  SessionReport report = session.report();
  const base::BootTime now = environment_.reactor->Now();
  report.cut_off = now - *session.reach()->cut_off_since();
  if (report.cut_off < report.timeout) return;  // it was connected since the timer began
  outage_reported_ = now;
  report.index = static_cast<int>(*index);
  report.trouble = session.reach()->trouble();
  report.causes = session.causes();
  // The connection has gone, and no attempt has ended yet.
  if (report.trouble.empty()) report.trouble = "no server has answered yet";
  if (report.causes.empty()) report.causes = {NoConnection::kSilent};
  options_.each.on_report(report);
}

// ---- the end ------------------------------------------------------------------------------------

void Sessions::Close(absl::AnyInvocable<void(absl::Status) &&> closed) {
  close_begun_ = true;
  closed_ = std::move(closed);
  // Counted before the first is asked, since one without a connection may report at once.
  closing_ = members_.size();
  for (const auto& member : members_) {
    member->session->Close([this](absl::Status status) { OnClosed(std::move(status)); });
  }
}

void Sessions::OnClosed(absl::Status status) {
  close_status_.Update(status);
  if (--closing_ == 0) std::move(closed_)(close_status_);
}

}  // namespace zkrecipes::session::client
