// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fenced_file.h"

#include <utility>

#include "lib/resources/file_on_disk.h"

namespace zkrecipes {

FencedFile::FencedFile(const std::string& path)
    : file_(std::make_unique<internal::FileOnDisk>(internal::RealDisk(), path)) {}
FencedFile::~FencedFile() = default;
FencedFile::FencedFile(FencedFile&&) noexcept = default;
FencedFile& FencedFile::operator=(FencedFile&&) noexcept = default;

absl::Status FencedFile::Create() { return file_->Create(); }

absl::Status FencedFile::Write(const FencingPass& pass, const std::string& data) {
  return file_->Replace(pass, &data).status();
}

absl::StatusOr<std::string> FencedFile::Claim(const FencingPass& pass) {
  auto body = file_->Replace(pass, nullptr);
  if (!body.ok()) return body.status();
  return std::move(body->data);
}

absl::StatusOr<FencedData> FencedFile::Read() const {
  auto body = file_->Read();
  if (!body.ok()) return body.status();
  return FencedData{std::move(body->data), body->floor};
}

}  // namespace zkrecipes
