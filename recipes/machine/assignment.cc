// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/assignment.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace zkrecipes::recipes::machine {
namespace {

// Of integers alone: members on any machine must find the same.
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// One member: its draws for every name, and its seats.
class Seats {
 public:
  Seats(const Sharer& member, size_t names, uint64_t all_weights) : id_(member.id) {
    const uint64_t weight = static_cast<uint64_t>(member.weight);
    fair_ = names * weight / all_weights;
    rounds_up_ = names * weight % all_weights != 0;
    const uint64_t own = HashOf(member.id);
    for (uint64_t draw = 1; draw <= weight; ++draw) draws_.push_back(Mixed(own + draw * kGolden));
  }

  size_t fair() const { return fair_; }
  // `extras`: how many seats above the fair shares are left, for all members.
  bool HasRoom(size_t extras) const {
    return taken_ < fair_ || (taken_ == fair_ && rounds_up_ && extras > 0);
  }
  void Take(size_t& extras) {
    if (taken_++ >= fair_) --extras;
  }

  // The best of as many draws as its weight, so that a member of weight 2 wins twice as often.
  uint64_t ScoreFor(uint64_t name) const {
    uint64_t best = 0;
    for (const uint64_t draw : draws_) best = std::max(best, Mixed(name ^ draw));
    return best;
  }
  const std::string& id() const { return id_; }

 private:
  const std::string& id_;
  std::vector<uint64_t> draws_;
  size_t fair_ = 0;
  bool rounds_up_ = false;
  size_t taken_ = 0;
};

struct Name {
  uint64_t hash = 0;
  size_t index = 0;
};

// The names in the order in which they choose.
std::vector<Name> Ordered(const std::vector<std::string>& names) {
  std::vector<Name> order;
  for (size_t i = 0; i < names.size(); ++i) order.push_back({HashOf(names[i]), i});
  std::ranges::sort(order, [&](const Name& a, const Name& b) {
    return std::tie(a.hash, names[a.index]) < std::tie(b.hash, names[b.index]);
  });
  return order;
}

// Seats the names among `chosen`: first those that have a place there already, then the rest.
void Seat(const std::vector<Sharer>& members, const std::vector<size_t>& chosen,
          const std::vector<Name>& order, std::vector<size_t>& places) {
  uint64_t weights = 0;
  for (const size_t m : chosen) weights += static_cast<uint64_t>(members[m].weight);
  std::vector<Seats> seats;
  size_t extras = order.size();
  for (const size_t m : chosen) {
    seats.emplace_back(members[m], order.size(), weights);
    extras -= seats.back().fair();
  }
  for (const Name& name : order) {
    size_t& place = places[name.index];
    const auto kept = std::ranges::find(chosen, place);
    place = kNobody;
    if (kept == chosen.end()) continue;
    Seats& seat = seats[static_cast<size_t>(kept - chosen.begin())];
    if (!seat.HasRoom(extras)) continue;
    seat.Take(extras);
    place = *kept;
  }
  for (const Name& name : order) {
    if (places[name.index] != kNobody) continue;
    Seats* best = nullptr;
    uint64_t best_score = 0;
    for (Seats& seat : seats) {
      if (!seat.HasRoom(extras)) continue;
      const uint64_t score = seat.ScoreFor(name.hash);
      const bool better =
          best == nullptr || score > best_score || (score == best_score && seat.id() < best->id());
      if (better) std::tie(best, best_score) = std::pair(&seat, score);
    }
    best->Take(extras);  // there is one: the seats are as many as the names
    places[name.index] = chosen[static_cast<size_t>(best - seats.data())];
  }
}

}  // namespace

uint64_t HashOf(const std::string& text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Mixed(hash);
}

std::vector<size_t> Assign(const std::vector<Sharer>& members,
                           const std::vector<std::string>& names) {
  std::vector<size_t> all(members.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<size_t> present;
  for (const size_t m : all) {
    if (members[m].present) present.push_back(m);
  }
  std::vector<size_t> places(names.size(), kNobody);
  if (present.empty()) return places;
  const std::vector<Name> order = Ordered(names);
  if (present.size() < all.size()) Seat(members, all, order, places);
  Seat(members, present, order, places);
  return places;
}

}  // namespace zkrecipes::recipes::machine
