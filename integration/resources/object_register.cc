// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "integration/resources/kinds.h"
#include "integration/resources/object_store.h"
#include "lib/resources/fenced_body.h"
#include "zkrecipes/fenced_object.h"

namespace resources {
namespace {

constexpr char kObject[] = "/bucket/register";

class ObjectRegister final : public Register {
 public:
  explicit ObjectRegister(const std::string& address)
      : object_(TransportTo(address, kObject)), client_(HttpClient(address)) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return object_.Write(holder.pass, value);
  }
  // A put as everybody does it; it only looks like a fenced one.
  absl::Status WriteUnchecked(const std::string& value) override {
    const std::string body = zkrecipes::internal::WriteFencedBody({.write = "-", .data = value});
    const auto answer = client_->Put(kObject, body, "application/octet-stream");
    return answer && answer->status == 200 ? absl::OkStatus() : absl::UnavailableError("PUT");
  }
  absl::StatusOr<std::string> Read() override {
    auto read = object_.Read();
    if (!read.ok()) return read.status();
    return std::move(read->data);
  }

 private:
  zkrecipes::FencedObject object_;
  const std::unique_ptr<httplib::Client> client_;
};

absl::StatusOr<std::unique_ptr<Server>> StartStore() {
  auto store = std::make_unique<ObjectStore>();
  if (absl::Status status = store->Start(); !status.ok()) return status;
  zkrecipes::FencedObject object(TransportTo(store->address(), kObject));
  if (absl::Status status = object.Create(); !status.ok()) return status;
  return store;
}

}  // namespace

Kind Object() {
  return {"object", &StartStore,
          [](const std::string& address) -> absl::StatusOr<std::unique_ptr<Register>> {
            return std::make_unique<ObjectRegister>(address);
          }};
}

}  // namespace resources
