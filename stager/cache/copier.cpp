#include "stager/cache/copier.h"

#include "stager/cache/part_copy.h"
#include "stager/cache/sealed_copy.h"
#include "stager/disk/disk_io.h"
#include "stager/disk/drop_behind.h"
#include "stager/spawn/request.h"
#include "transport/base/codec.h"
#include "transport/os/descriptors.h"

#include <grp.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

namespace stage {
namespace {

constexpr std::size_t kMaxSentence = 1024;
enum Word : std::uint8_t { done = 0, failed = 1, room = 2 };

Error said_errno(std::string_view doing) {
    return Error::from_errno(Blame::node, doing);
}

Status read_block(int fd, MutableBytes room, std::uint64_t offset) {
    const std::int64_t count = read_fully(fd, room, offset);
    if (count < 0) {
        return said_errno("reading the file");
    }
    return count == static_cast<std::int64_t>(room.size())
               ? Status{}
               : Status{Error{Blame::user, "the file is now shorter than when it was staged"}};
}

/// True for a clone that takes less space than its length. (Files of FUSE cannot be cloned.)
bool has_holes(int fd, std::uint64_t size) {
    return ::lseek(fd, 0, SEEK_HOLE) != static_cast<off_t>(size);
}

/// Gives way to the job's own processes; not for a copy that a job waits for.
void step_back() {
    constexpr int kIdleClass = 3 << 13;
    constexpr int kLeastImportant = 19;
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kLeastImportant));
    static_cast<void>(::syscall(SYS_ioprio_set, 1, 0, kIdleClass));
}

/// Becomes `uid`, without any other rights than the given descriptors.
Status confine(std::uint64_t size, uid_t uid, gid_t gid) {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    const rlimit whole{.rlim_cur = size, .rlim_max = size};
    if (::setrlimit(RLIMIT_CORE, &none) != 0 || ::setrlimit(RLIMIT_FSIZE, &whole) != 0 ||
        ::setrlimit(RLIMIT_NPROC, &none) != 0 || ::setrlimit(RLIMIT_NOFILE, &none) != 0 ||
        ::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 ||
        ::setresuid(uid, uid, uid) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {  // setuid() has cleared it.
        return said_errno("becoming the copier's user");
    }
    return {};
}

template <std::size_t Size>
void take(ByteReader& reader, std::array<std::byte, Size>& into) {
    std::ranges::copy(reader.raw(Size), into.begin());
}

std::optional<CopyOrder> decode_copy_order(Bytes message) {
    ByteReader reader{message};
    CopyOrder order;
    const std::uint8_t way = reader.u8();
    order.way = static_cast<CopyWay>(way);
    order.size = reader.u64();
    take(reader, order.key.key);
    take(reader, order.key.nonce_base);
    take(reader, order.stamp);
    const bool is_one = reader.finished() && way <= static_cast<std::uint8_t>(CopyWay::part);
    return is_one ? std::optional{order} : std::nullopt;
}

/// Asks the daemon, at the other end of `fd`, for permission to write.
class WritePermission {
  public:
    WritePermission(int fd, std::uint64_t size) : fd_{fd}, size_{size} {}

    [[nodiscard]] bool may_write(std::uint64_t end) {
        if (end <= granted_) {
            return true;
        }
        granted_ = next_allowance(end, size_);
        ByteWriter question;
        question.u8(Word::room).u64(granted_);
        std::uint8_t answer = 0;
        return ::send(fd_, question.view().data(), question.size(), MSG_NOSIGNAL) > 0 &&
               ::recv(fd_, &answer, sizeof answer, 0) == 1 && answer == 1;
    }

  private:
    int fd_;
    std::uint64_t size_;
    std::uint64_t granted_ = 0;
};

Result<Content> work_on(const Received& received, int fd, uid_t uid, gid_t gid) {
    const auto order = decode_copy_order(received.message);
    if (!order || received.fds.size() != 2) {
        return Error{Blame::internal, "the copier received a malformed request"};
    }
    const bool is_part = order->way == CopyWay::part;
    if (is_part || order->way == CopyWay::keep) {
        step_back();
    }
    const std::uint64_t size_max =
        is_part ? part_bytes_max(std::min(order->size, kPartOfMax)) : order->size;
    TRY(confine(size_max, uid, gid));
    const int from = received.fds[0].get();
    const int to = received.fds[1].get();
    if (order->way == CopyWay::send) {
        Status sent = send_sealed(from, to, order->size, order->key);
        return sent ? Result<Content>{Content{}} : std::move(sent).error();
    }
    WritePermission permission{fd, size_max};
    const MayWrite may_write = [&](std::uint64_t end) { return permission.may_write(end); };
    if (is_part) {
        Status copied = copy_part(from, to, {order->stamp, order->size}, may_write);
        return copied ? Result<Content>{Content{}} : std::move(copied).error();
    }
    return order->way == CopyWay::receive
               ? receive_sealed(from, to, order->size, order->key, {.may_write = may_write})
               : copy_hashed(from, to, order->size, may_write);
}

}  // namespace

std::uint64_t next_allowance(std::uint64_t end, std::uint64_t size) {
    return std::min(size, end + std::min(end, kAllowanceMax));
}

Result<Content> copy_hashed(int from, int to, std::uint64_t size, const MayWrite& may_write) {
    const Error other{Blame::user, "it is not a regular file of the staged size"};
    if (!has_size(from, size)) {
        return other;
    }
    // The clone can't change any more. FICLONE's number is made for ints.
    bool is_cloned = ::ioctl(to, FICLONE, from) == 0;  // NOLINT
    if (is_cloned && !has_size(to, size)) {
        return other;
    }
    if (is_cloned && has_holes(to, size)) {
        is_cloned = false;
        if (::ftruncate(to, 0) != 0) {
            return said_errno("writing the copy");
        }
    }
    std::vector<std::byte> room(kBlockBytes);
    ContentHasher hasher;
    DropBehind behind{0};  // No process is about to read the entry.
    for (std::uint64_t at = 0; at < size; at += kBlockBytes) {
        const MutableBytes block = MutableBytes{room}.first(
            static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, size - at)));
        TRY(read_block(is_cloned ? to : from, block, at));
        if (!may_write(at + block.size())) {
            return no_room();
        }
        hasher.add(block);
        if (!is_cloned && !write_fully(to, block, at)) {
            return said_errno("writing the copy");
        }
        behind.wrote(to, at, block.size());
    }
    if (::fdatasync(to) != 0) {
        return said_errno("writing the copy");
    }
    behind.end(to);
    errno = behind.cause();
    if (errno != 0) {
        return said_errno("writing the copy");
    }
    return hasher.content();
}

int run_cache_copier(int fd, uid_t uid, gid_t gid) {
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    const Result<Received> received =
        receive_with_descriptors(fd, kSpawnRequestMax, kSpawnFdsMax);
    if (!received || received->ended || received->is_cut) {
        return 1;
    }
    const Result<Content> content = work_on(*received, fd, uid, gid);
    ByteWriter answer;
    if (content) {
        answer.u8(Word::done).raw(bytes_of(*content));
    } else {
        answer.u8(Word::failed).text(content.error().sentence().substr(0, kMaxSentence));
    }
    return ::send(fd, answer.view().data(), answer.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

std::vector<std::byte> encode_copy_order(const CopyOrder& order) {
    ByteWriter writer;
    writer.u8(static_cast<std::uint8_t>(order.way)).u64(order.size);
    writer.raw(order.key.key).raw(order.key.nonce_base).raw(order.stamp);
    return writer.take();
}

std::optional<std::uint64_t> decode_room_question(Bytes message) {
    ByteReader reader{message};
    const bool is_room = reader.u8() == Word::room;
    const std::uint64_t bytes = reader.u64();
    return is_room && reader.finished() ? std::optional{bytes} : std::nullopt;
}

std::vector<std::byte> encode_room_answer() {
    return {std::byte{1}};
}

Result<Content> decode_copy_answer(Bytes answer) {
    ByteReader reader{answer};
    if (reader.u8() == Word::done) {
        const auto content = content_of_bytes(reader.raw(reader.left()));
        return content ? Result<Content>{*content}
                       : Error{Blame::internal, "the copier sent a malformed answer"};
    }
    const std::string sentence = reader.text(kMaxSentence);
    return Error{Blame::node,
                 reader.finished() ? sentence : "the copier ended without an answer"};
}

}  // namespace stage
