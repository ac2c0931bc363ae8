// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "absl/time/time.h"

namespace zkr {
namespace {

struct Header {
  MessageKind kind;
  std::int64_t value;
  std::int64_t sent_ns;
};

// The kernel fills this in, translated to the receiver's PID namespace: the one way to learn from
// outside which pid a process of another namespace has here.
pid_t SenderOf(msghdr* packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(packet); part != nullptr; part = CMSG_NXTHDR(packet, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
      return credentials.pid;
    }
  }
  return 0;
}

}  // namespace

ChannelPair Channel::Pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) return {};
  ChannelPair pair{Channel(fds[0]), Channel(fds[1])};
  const int on = 1;
  for (const int fd : fds) {
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) return {};
  }
  return pair;
}

bool Channel::Send(const Message& message) const { return SendWithFlags(message, 0); }

bool Channel::TrySend(const Message& message) const { return SendWithFlags(message, MSG_DONTWAIT); }

bool Channel::SendWithFlags(const Message& message, int flags) const {
  const auto now = zkrecipes::base::BootNow().since_boot();
  Header header{message.kind, message.value, absl::ToInt64Nanoseconds(now)};
  iovec parts[2] = {{&header, sizeof(header)},
                    {const_cast<char*>(message.text.data()), message.text.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  ssize_t sent = 0;
  do {
    sent = sendmsg(fd_.get(), &packet, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<Message> Channel::Receive() const {
  std::string text(std::size_t{256} << 10, '\0');
  Header header{};
  iovec parts[2] = {{&header, sizeof(header)}, {text.data(), text.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  packet.msg_control = control;
  packet.msg_controllen = sizeof(control);
  ssize_t got = 0;
  // ECONNRESET, once: the other side ended and left something of ours unread. What it had sent
  // before is still to be received.
  do {
    got = recvmsg(fd_.get(), &packet, MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < static_cast<ssize_t>(sizeof(header))) return std::nullopt;
  text.resize(static_cast<std::size_t>(got) - sizeof(header));
  Message message{header.kind, header.value, std::move(text), {}, SenderOf(&packet)};
  message.sent = zkrecipes::base::BootTime::SinceBoot(absl::Nanoseconds(header.sent_ns));
  return message;
}

}  // namespace zkr
