// Sends and receives messages together with open descriptors, and files in memory.
//
// A message uses SCM_RIGHTS on a SOCK_SEQPACKET pair, and arrives whole or is refused. What is
// too long for one is written into a file in memory, whose descriptor is sent.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <sys/socket.h>

#include <span>
#include <string_view>
#include <vector>

namespace stage {

/// What the kernel passes at once.
inline constexpr std::size_t kMaxDescriptors = 253;

/// Without MSG_DONTWAIT it waits while a blocking socket is full. Never raises a signal.
/// `fds` are borrowed. `doing` begins an error; its cause() is EAGAIN if the socket is full.
Status send_with_descriptors(int socket,
                             Bytes message,
                             std::span<const int> fds,
                             int flags = MSG_DONTWAIT,
                             std::string_view doing = "sending a request");

struct Received {
    std::vector<std::byte> message;
    std::vector<UniqueFd> fds;  ///< Close-on-exec.
    bool ended = false;         ///< The other end is closed.
    bool is_cut = false;        ///< The message was longer, or had more descriptors.
};
/// Waits for a message if the socket blocks; else cause() is EAGAIN. More than `bytes_max`
/// bytes or `fds_max` descriptors are dropped.
Result<Received> receive_with_descriptors(int socket,
                                          std::size_t bytes_max,
                                          std::size_t fds_max,
                                          std::string_view doing = "receiving a request");

/// A file in memory that has these bytes. `name` is for debugging.
Result<UniqueFd> file_in_memory(const char* name, Bytes bytes);
/// The first bytes of a file, at most `length`. (It is not mapped: its sender can still
/// truncate it.)
Result<std::vector<std::byte>> read_first(int file, std::size_t length);

Status set_nonblocking(int fd);

}  // namespace stage
