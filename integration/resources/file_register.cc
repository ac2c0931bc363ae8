// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "integration/resources/kinds.h"
#include "integration/resources/private_server.h"
#include "lib/base/random.h"
#include "lib/fencing/fenced_body.h"
#include "lib/fencing/file_on_disk.h"
#include "zkrecipes/fencing/fenced_file.h"

namespace resources {
namespace {

using zkrecipes::FencedFile;

// The address is the file's path.
class FolderServer final : public Server {
 public:
  explicit FolderServer(std::unique_ptr<PrivateServer> folder) : folder_(std::move(folder)) {}
  absl::Status Start() { return FencedFile(address()).Create(); }
  std::string address() const override { return folder_->directory() + "/register"; }
  absl::Status Restart() override { return absl::OkStatus(); }  // there is no server

 private:
  const std::unique_ptr<PrivateServer> folder_;  // that has no process
};

class FileRegister final : public Register {
 public:
  explicit FileRegister(std::string path) : path_(std::move(path)), file_(path_) {}

  absl::Status Write(const Holder& holder, const std::string& value) override {
    return file_.Write(holder.pass, value);
  }
  // As every program that replaces a file safely does it; the file only looks like a fenced one.
  absl::Status WriteUnchecked(const std::string& value) override {
    const size_t slash = path_.rfind('/') + 1;
    const std::string name = path_.substr(slash), next = name + "." + zkrecipes::base::NewGuid();
    const auto folder = zkrecipes::fencing::OpenRealFolder(path_.substr(0, slash));
    if (!folder.ok()) return folder.status();
    auto file = (*folder)->Open(next, zkrecipes::fencing::OpenFor::kCreating);
    if (!file.ok()) return file.status();
    absl::Status status =
        (*file)->Write(zkrecipes::fencing::WriteFencedBody({.write = "-", .data = value}));
    if (status.ok()) status = (*file)->Sync();
    if (status.ok()) status = (*folder)->Rename(next, name);
    return status.ok() ? (*folder)->Sync() : status;
  }
  absl::StatusOr<std::string> Read() override {
    auto read = file_.Read();
    if (!read.ok()) return read.status();
    return std::move(read->data);
  }

 private:
  const std::string path_;
  FencedFile file_;
};

absl::StatusOr<std::unique_ptr<Server>> StartFolder() {
  auto folder = PrivateServer::Make();
  if (!folder.ok()) return folder.status();
  auto server = std::make_unique<FolderServer>(*std::move(folder));
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace

Kind File() {
  return {"file", &StartFolder,
          [](const std::string& address) -> absl::StatusOr<std::unique_ptr<Register>> {
            return std::make_unique<FileRegister>(address);
          }};
}

}  // namespace resources
