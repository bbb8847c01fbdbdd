#include "transport/run/passage/passage.h"

#include "transport/core/base/timeouts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace stage {
namespace {

constexpr std::uint64_t kHeadBytes = 4096;
/// Each file of a stage ends with at most one block that is not full, and a stage has at most
/// half as many files. More would be a table without an object.
constexpr std::uint64_t kPartBlocksMax = std::uint64_t{1} << 19U;
constexpr std::uint64_t kMark = 0x73746167'70617301;

struct Head {
    std::uint64_t mark = kMark;
    std::uint64_t bytes = 0;
    std::uint32_t blocks = 0;
};

/// One side's end, at a place of its own in the file's head.
struct EndRecord {
    std::uint32_t how = 0;  ///< Written last.
    std::uint16_t length = 0;
    Blame blame = Blame::node;
    std::array<char, Passage::kWhyMax> why{};
};

constexpr std::uint64_t place_of(Passage::Side side) {
    return 1024 * (1 + static_cast<std::uint64_t>(side));
}
static_assert(sizeof(EndRecord) <= 1024 && sizeof(Head) <= 1024);

constexpr std::uint64_t place_of(BlockIndex block) {
    return kHeadBytes + std::uint64_t{block.value()} * sizeof(Passage::Entry);
}

constexpr std::uint64_t first_place(std::uint32_t blocks) {
    const std::uint64_t end = place_of(BlockIndex{blocks});
    return (end + kHeadBytes - 1) / kHeadBytes * kHeadBytes;
}

Error trouble(const char* what) {
    return {Blame::node,
            "the file for what comes from another cluster cannot be " + std::string{what} +
                " (" + std::generic_category().message(errno) + ")"};
}

bool write_all(int file, const void* from, std::size_t count, std::uint64_t place) {
    const auto* at = static_cast<const char*>(from);
    while (count > 0) {
        const ssize_t wrote = ::pwrite(file, at, count, static_cast<off_t>(place));
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return false;
        }
        at += wrote;
        count -= static_cast<std::size_t>(wrote);
        place += static_cast<std::uint64_t>(wrote);
    }
    return true;
}

bool read_all(int file, void* to, std::size_t count, std::uint64_t place) {
    auto* at = static_cast<char*>(to);
    while (count > 0) {
        const ssize_t got = ::pread(file, at, count, static_cast<off_t>(place));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        count -= static_cast<std::size_t>(got);
        place += static_cast<std::uint64_t>(got);
    }
    return true;
}

Error no_room(int file, const std::string& directory, std::uint64_t bytes) {
    struct statvfs disk {};
    const bool is_known = errno == ENOSPC && ::fstatvfs(file, &disk) == 0;
    const std::string free =
        is_known ? ", and has " + std::to_string(std::uint64_t{disk.f_bavail} * disk.f_frsize)
                 : " (" + std::generic_category().message(errno) + ")";
    return {Blame::node,
            "what comes from another cluster needs " + std::to_string(bytes) + " bytes in " +
                directory + free};
}

}  // namespace

std::uint64_t Passage::file_bytes(std::uint32_t blocks, std::uint64_t bytes) {
    return first_place(blocks) + bytes;
}

Result<UniqueFd> Passage::make(const std::string& directory,
                               std::uint32_t blocks,
                               std::uint64_t bytes) {
    const bool fits = blocks > 0 && blocks <= core::kBlocksMax && bytes >= blocks &&
                      bytes <= std::uint64_t{blocks} * kBlockBytes &&
                      blocks <= bytes / kBlockBytes + kPartBlocksMax;
    if (!fits) {
        return Error{Blame::internal,
                     "no object has " + std::to_string(blocks) + " blocks of together " +
                         std::to_string(bytes) + " bytes"};
    }
    UniqueFd file{::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (!file) {
        return Error{Blame::node,
                     "no file can be made in " + directory +
                         " for what comes from another cluster (" +
                         std::generic_category().message(errno) + ")"};
    }
    const std::uint64_t size = file_bytes(blocks, bytes);
    if (::fallocate(file.get(), 0, 0, static_cast<off_t>(size)) != 0) {
        return no_room(file.get(), directory, size);
    }
    const Head head{.bytes = bytes, .blocks = blocks};
    if (!write_all(file.get(), &head, sizeof head, 0)) {
        return trouble("written");
    }
    return file;
}

Result<Passage> Passage::open(UniqueFd file) {
    Head head;
    struct stat seen {};
    const bool is_one =
        ::fstat(file.get(), &seen) == 0 && S_ISREG(seen.st_mode) &&
        read_all(file.get(), &head, sizeof head, 0) && head.mark == kMark && head.blocks > 0 &&
        static_cast<std::uint64_t>(seen.st_size) == file_bytes(head.blocks, head.bytes);
    if (!is_one) {
        return Error{Blame::internal, "the file for what comes from another cluster is none"};
    }
    return Passage{std::move(file), head.blocks, head.bytes};
}

Passage::Taken Passage::take_up() {
    constexpr std::uint32_t kAtOnce = 4096;
    Taken taken;
    std::vector<Entry> entries(std::min(blocks_, kAtOnce));
    for (std::uint32_t from = 0; from < blocks_; from += kAtOnce) {
        const std::uint32_t count = std::min(blocks_ - from, kAtOnce);
        if (!read_all(file_.get(),
                      entries.data(),
                      count * sizeof(Entry),
                      place_of(BlockIndex{from}))) {
            break;  // What is not known here comes once more.
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            note_taken(taken, BlockIndex{from + i}, entries[i]);
        }
    }
    return taken;
}

void Passage::note_taken(Taken& taken, BlockIndex block, const Entry& entry) {
    if (entry.length == 0 || entry.length > kBlockBytes) {
        return;
    }
    const bool goes_on =
        !taken.runs.empty() &&
        taken.runs.back().first.value() + taken.runs.back().second == block.value();
    if (!goes_on) {
        taken.runs.emplace_back(block, 0U);
    }
    ++taken.runs.back().second;
    ++taken.blocks;
    taken.bytes += entry.length;
    kept_ = std::max(kept_, entry.place - first_place(blocks_) + entry.length);
}

Status Passage::keep(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    if (block.value() >= blocks_ || bytes.size() > bytes_ - kept_ || bytes.empty()) {
        return Error{
            Blame::internal,
            "the other cluster sent more than it announced: " + std::to_string(blocks_) +
                " blocks, " + std::to_string(bytes_) + " bytes"};
    }
    Entry entry{.leaf = leaf, .place = first_place(blocks_) + kept_};
    const std::uint64_t at = place_of(block);
    if (!write_all(file_.get(), bytes.data(), bytes.size(), entry.place) ||
        !write_all(file_.get(), &entry, sizeof entry, at)) {
        return trouble("written");
    }
    kept_ += bytes.size();
    const auto length = static_cast<std::uint32_t>(bytes.size());
    return write_all(file_.get(), &length, sizeof length, at + offsetof(Entry, length))
               ? Status{}
               : trouble("written");
}

std::optional<Passage::Entry> Passage::find(BlockIndex block) const {
    Entry entry;
    std::uint32_t length = 0;  // Looked at first, because it was written last.
    const bool is_here =
        block.value() < blocks_ &&
        read_all(
            file_.get(), &length, sizeof length, place_of(block) + offsetof(Entry, length)) &&
        length > 0 && length <= kBlockBytes &&
        read_all(file_.get(), &entry, sizeof entry, place_of(block)) && entry.length == length;
    return is_here ? std::optional{entry} : std::nullopt;
}

Status Passage::read(const Entry& entry, std::uint32_t offset, MutableBytes room) const {
    return read_all(file_.get(), room.data(), room.size(), entry.place + offset)
               ? Status{}
               : trouble("read");
}

void Passage::end(Side side, End how, const std::string& why, Blame blame) const {
    if (ended(side).how != End::open) {
        return;
    }
    EndRecord record;
    record.length = static_cast<std::uint16_t>(std::min(why.size(), kWhyMax));
    record.blame = blame;
    std::copy_n(why.begin(), record.length, record.why.begin());
    const std::uint64_t place = place_of(side);
    const auto state = static_cast<std::uint32_t>(how);
    // (What fails here is missed by the other side's own time-outs only.)
    static_cast<void>(write_all(file_.get(), &record, sizeof record, place) &&
                      write_all(file_.get(), &state, sizeof state, place));
}

Passage::Ended Passage::ended(Side side) const {
    EndRecord record;
    if (!read_all(file_.get(), &record, sizeof record, place_of(side))) {
        return {.how = End::failed, .why = trouble("read").sentence()};
    }
    const std::size_t length = std::min<std::size_t>(record.length, kWhyMax);
    const bool is_known = record.how <= static_cast<std::uint32_t>(End::failed);
    return {.how = is_known ? static_cast<End>(record.how) : End::failed,
            .why = std::string{record.why.data(), length},
            .blame = record.blame <= Blame::internal ? record.blame : Blame::node};
}

}  // namespace stage
