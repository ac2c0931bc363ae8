// SPDX-License-Identifier: Apache-2.0

#include "lib/base/secret.h"

#include <cstring>

namespace zkrecipes::base {

void Wipe(std::string& text) {
  // Short ones are kept inside of the object, where a move leaves them.
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
}

void Wipe(std::vector<std::string>& texts) {
  for (std::string& text : texts) Wipe(text);
  texts.clear();
}

// Not a string, which may keep a short text inside of itself and leave it there when it moves.
struct Secret::Held {
  explicit Held(absl::string_view text) : size(text.size()), bytes(new char[text.size()]) {
    text.copy(bytes.get(), size);
  }
  ~Held() { explicit_bzero(bytes.get(), size); }
  const size_t size;
  const std::unique_ptr<char[]> bytes;
};

Secret::Secret(absl::string_view text) : held_(std::make_shared<const Held>(text)) {}

absl::string_view Secret::text() const { return {held_->bytes.get(), held_->size}; }

Secrets TakeSecrets(std::vector<std::string>& texts) {
  Secrets secrets;
  for (const std::string& text : texts) secrets.emplace_back(text);
  Wipe(texts);
  return secrets;
}

}  // namespace zkrecipes::base
