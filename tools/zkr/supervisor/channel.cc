// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "absl/time/time.h"

namespace zkrecipes::zkr::supervisor {
namespace {

struct Header {
  MessageKind kind;
  std::int32_t second;
  std::int64_t value;
  std::int64_t sent_ns;
};

union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void Attach(int fd, Control& control, msghdr& packet) {
  packet.msg_control = &control;
  packet.msg_controllen = CMSG_SPACE(sizeof(fd));
  cmsghdr* part = CMSG_FIRSTHDR(&packet);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(fd));
  std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
}

// The descriptor that came with a packet; invalid: none did.
base::UniqueFd TakeAttached(msghdr& packet) {
  const cmsghdr* part = CMSG_FIRSTHDR(&packet);
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
  return base::UniqueFd(fd);
}

}  // namespace

ChannelPair Channel::Pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return {};
  return {Channel(base::UniqueFd(fds[0])), Channel(base::UniqueFd(fds[1]))};
}

bool Channel::Send(const Message& message) const { return SendWithFlags(message, 0); }

bool Channel::TrySend(const Message& message) const { return SendWithFlags(message, MSG_DONTWAIT); }

bool Channel::SendWithFlags(const Message& message, int flags) const {
  // CLOCK_BOOTTIME is one clock for all processes of the machine, so the receiver can compare.
  const auto now = base::BootNow().since_boot();
  Header header{message.kind, message.second, message.value, absl::ToInt64Nanoseconds(now)};
  iovec parts[2] = {{&header, sizeof(header)},
                    {const_cast<char*>(message.text.data()), message.text.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  Control control{};
  if (message.passed.valid()) Attach(message.passed.get(), control, packet);
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd_.get(), &packet, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<Message> Channel::Receive() const {
  // As large as any packet that a socket with its default buffer takes.
  std::string text(std::size_t{256} << 10, '\0');
  Header header{};
  iovec parts[2] = {{&header, sizeof(header)}, {text.data(), text.size()}};
  Control control{};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  packet.msg_control = &control;
  packet.msg_controllen = sizeof(control);
  // MSG_CMSG_CLOEXEC: a CMD that is just being started must not inherit what arrives.
  ssize_t got = 0;
  // ECONNRESET, once: the other side ended and left something of ours unread. What it had sent
  // before is still to be received.
  do {
    got = recvmsg(fd_.get(), &packet, MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  // 0 is the end of the stream; nothing shorter than a header is ever sent.
  if (got < static_cast<ssize_t>(sizeof(header))) return std::nullopt;
  text.resize(static_cast<std::size_t>(got) - sizeof(header));
  Message message{header.kind, header.value, std::move(text)};
  message.passed = TakeAttached(packet);
  message.second = header.second;
  message.sent = base::BootTime::SinceBoot(absl::Nanoseconds(header.sent_ns));
  return message;
}

}  // namespace zkrecipes::zkr::supervisor
