#include "stager/files/partial.h"

#include "stager/files/disk_io.h"
#include "stager/files/manifest.h"
#include "transport/base/codec.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kMagic = "stagecast part 1";
constexpr std::size_t kNoteHeadBytes = kMagic.size() + 32 + 8;
constexpr std::string_view kTail = ".stagecast.part";

std::size_t blocks_of(std::uint64_t size) {
    return (size + kBlockBytes - 1) / kBlockBytes;
}

}  // namespace

std::string partial_name(const std::string& name) {
    return '.' + name.substr(0, kMaxFileNameBytes - 1 - kTail.size()) + std::string{kTail};
}

UniqueFd open_partial(int directory, const std::string& partial) {
    UniqueFd file{::openat(
        directory, partial.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    struct stat status {};
    // A second name may be that of a file which nobody meant; another mode is none of ours.
    const bool is_ours = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_uid == ::geteuid() && status.st_nlink == 1 &&
                         (status.st_mode & 07777U) == 0600 &&
                         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    return is_ours ? std::move(file) : UniqueFd{};
}

void remove_partial(int directory, const std::string& partial) {
    if (open_partial(directory, partial)) {
        static_cast<void>(::unlinkat(directory, partial.c_str(), 0));
    }
}

std::vector<std::byte> encode_note(const SourceStamp& stamp,
                                   std::uint64_t size,
                                   const std::vector<Digest128>& leaves) {
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kMagic})).raw(stamp).u64(size);
    return writer.raw(std::as_bytes(std::span{leaves})).take();
}

std::optional<std::vector<Digest128>> decode_note(Bytes bytes,
                                                  const SourceStamp& stamp,
                                                  std::uint64_t size) {
    ByteReader reader{bytes};
    const Bytes magic = reader.raw(kMagic.size());
    const Bytes about = reader.raw(stamp.size());
    const bool is_about_it = reader.u64() == size && reader.ok() &&
                             std::ranges::equal(magic, std::as_bytes(std::span{kMagic})) &&
                             std::ranges::equal(about, stamp);
    if (!is_about_it) {
        return std::nullopt;
    }
    std::vector<Digest128> leaves(blocks_of(size));
    for (Digest128& leaf : leaves) {
        const Bytes noted = reader.raw(std::min(reader.left(), leaf.size()));
        if (noted.size() == leaf.size()) {  // A note that ends early says nothing of the rest.
            std::ranges::copy(noted, leaf.begin());
        }
    }
    return leaves;
}

PartialNote::PartialNote(int file, const SourceStamp& stamp, std::uint64_t size)
    : stamp_{stamp}, size_{size} {
    std::vector<std::byte> room(kNoteHeadBytes + blocks_of(size) * sizeof(Digest128));
    const std::int64_t length = read_fully(file, room, size);
    const auto read = static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
    auto leaves = decode_note(Bytes{room}.first(read), stamp, size);
    // What is another's gives its room back first. (Where it doesn't, it is overwritten.)
    const bool is_emptied = leaves || ::ftruncate(file, 0) == 0;
    static_cast<void>(is_emptied);
    leaves_ = leaves ? *std::move(leaves) : std::vector<Digest128>(blocks_of(size));
    has_any_ =
        std::ranges::any_of(leaves_, [](const Digest128& leaf) { return leaf != Digest128{}; });
}

bool PartialNote::write(int file) const {
    return write_fully(file, encode_note(stamp_, size_, leaves_), size_);
}

void PartialNote::record(int file, std::size_t block, const Digest128& leaf) {
    has_any_ = true;
    leaves_[block] = leaf;
    static_cast<void>(
        write_fully(file, leaf, size_ + kNoteHeadBytes + block * sizeof(Digest128)));
}

}  // namespace stage
