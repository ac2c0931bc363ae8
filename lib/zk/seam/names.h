// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_NAMES_H_
#define ZKRECIPES_LIB_ZK_SEAM_NAMES_H_

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace zkrecipes::zk::inline seam {

// Names of nodes, in order, as a value in one piece of memory: a listing may have ten thousand. No name has a
// NUL in it (JuteReader::String), so each ends with one. What is read of it is valid while it stays unchanged.
class Names {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = absl::string_view;
    using difference_type = ptrdiff_t;
    using pointer = const absl::string_view*;
    using reference = absl::string_view;

    Iterator() = default;
    explicit Iterator(const char* at) : name_(at) {}
    absl::string_view operator*() const { return name_; }
    pointer operator->() const { return &name_; }
    Iterator& operator++() { return *this = Iterator(name_.data() + name_.size() + 1); }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*this).operator++()); }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.name_.data() == b.name_.data();
    }

   private:
    absl::string_view name_;
  };
  using value_type = absl::string_view;
  using const_iterator = Iterator;

  Names() = default;
  template <std::forward_iterator It>
  Names(It begin, It end) {
    size_t bytes = 0;
    for (It it = begin; it != end; ++it) bytes += absl::string_view(*it).size() + 1;
    reserve(bytes);
    for (It it = begin; it != end; ++it) push_back(*it);
  }
  Names(std::initializer_list<absl::string_view> names) : Names(names.begin(), names.end()) {}
  explicit Names(const std::vector<std::string>& names) : Names(names.begin(), names.end()) {}

  // Room for all of them, each with a byte more.
  void reserve(size_t bytes) { text_.reserve(bytes); }
  void push_back(absl::string_view name) {
    text_.append(name.data(), name.size());
    text_.push_back('\0');
    ++size_;
  }
  // REQUIRES: !empty()
  void pop_front() {
    text_.erase(0, front().size() + 1);
    --size_;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  absl::string_view front() const { return *begin(); }  // REQUIRES: !empty()
  Iterator begin() const { return Iterator(text_.c_str()); }
  Iterator end() const { return Iterator(text_.c_str() + text_.size()); }

  friend bool operator==(const Names&, const Names&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Names& n) {
    return H::combine(std::move(h), n.text_);
  }

 private:
  std::string text_;
  size_t size_ = 0;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_NAMES_H_
