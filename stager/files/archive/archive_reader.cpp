#include "stager/files/archive/archive_reader.h"

#include "transport/base/text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stage {
namespace {

constexpr std::size_t kReadBytes = 256U << 10U;
constexpr std::size_t kTarBlockBytes = 512;
static_assert(kReadBytes % kTarBlockBytes == 0);

bool begins_as_zip(ArrivedBytes& bytes) {
    std::array<std::byte, 4> head{};
    if (bytes.read(0, head) != static_cast<std::int64_t>(head.size())) {
        return false;
    }
    const std::string_view text = as_text(head);
    return text == "PK\x03\x04" || text == "PK\x05\x06";
}

/// True for warnings of libarchive that unzip(1) or tar(1) treat as errors.
bool is_error(std::string_view warning) {
    constexpr std::array<std::string_view, 4> kErrors{
        "Inconsistent", "alformed pax", "Too many special headers", "Unrecognized GNU sparse"};
    return std::ranges::any_of(kErrors, [&](std::string_view words) {
        return warning.find(words) != std::string_view::npos;
    });
}

}  // namespace

ArchiveReader::ArchiveReader(ArrivedBytes& bytes, ReadTrouble& trouble)
    : bytes_{bytes}, trouble_{trouble}, room_(kReadBytes), decompression_{bytes, trouble} {
}

bool ArchiveReader::open() {
    if (bytes_.size() == 0) {
        return false;
    }
    if (begins_as_zip(bytes_)) {
        if (!open_zip()) {
            trouble_.set({.kind = ReadTrouble::Kind::damaged,
                          .why = "the directory at the zip's end is missing"});
            return false;
        }
        return true;
    }
    if (!decompression_.open()) {
        return false;
    }
    // A zip may follow a program that unpacks it.
    return open_tar() || (!trouble_.is_set() && !decompression_.has_any() && open_zip());
}

bool ArchiveReader::open_tar() {
    const auto read = [](archive* /*one*/, void* data, const void** out) {
        return static_cast<ArchiveReader*>(data)->read_tar(out);
    };
    archive_.reset(archive_read_new());
    archive* one = archive_.get();
    // Formats for which this libarchive would start another program are not allowed.
    return one != nullptr && archive_read_support_format_tar(one) == ARCHIVE_OK &&
           archive_read_support_format_gnutar(one) == ARCHIVE_OK &&
           archive_read_open(one, this, nullptr, read, nullptr) == ARCHIVE_OK;
}

bool ArchiveReader::open_zip() {
    zip_ = read_zip_directory(bytes_, trouble_);
    if (!zip_ || zip_->members.empty()) {
        return zip_.has_value();
    }
    const auto read = [](archive* /*one*/, void* data, const void** out) {
        return static_cast<ArchiveReader*>(data)->read_zip(out);
    };
    const auto skip = [](archive* /*one*/, void* data, la_int64_t count) {
        return static_cast<ArchiveReader*>(data)->skip_zip(count);
    };
    const auto seek = [](archive* /*one*/, void* data, la_int64_t offset, int whence) {
        return static_cast<ArchiveReader*>(data)->seek_zip(offset, whence);
    };
    at_ = 0;
    archive_.reset(archive_read_new());
    archive* one = archive_.get();
    const bool is_open = one != nullptr &&
                         archive_read_support_format_zip_seekable(one) == ARCHIVE_OK &&
                         archive_read_set_callback_data(one, this) == ARCHIVE_OK &&
                         archive_read_set_read_callback(one, read) == ARCHIVE_OK &&
                         archive_read_set_skip_callback(one, skip) == ARCHIVE_OK &&
                         archive_read_set_seek_callback(one, seek) == ARCHIVE_OK &&
                         archive_read_open1(one) == ARCHIVE_OK;
    if (!is_open) {
        trouble_.set(trouble_of(one));
    }
    return is_open;
}

/// Fills all of `room_` except at the end, so that a block of the tar never spans two reads.
la_ssize_t ArchiveReader::read_tar(const void** out) {
    std::vector<std::byte> last;
    if (held_ >= kTarBlockBytes) {
        const auto held = room_.begin() + static_cast<std::ptrdiff_t>(held_);
        last.assign(held - static_cast<std::ptrdiff_t>(kTarBlockBytes), held);
    }
    const std::int64_t count = read_all(decompression_.plain(), room_);
    if (count > 0) {  // Otherwise the buffered bytes stay.
        last_ = std::move(last);
        held_ = static_cast<std::size_t>(count);
        at_ += held_;
    }
    *out = room_.data();
    return count;
}

la_ssize_t ArchiveReader::read_zip(const void** out) {
    const std::uint64_t left = zip_->end - zip_->begin - at_;
    const std::size_t wanted = std::min<std::uint64_t>(left, room_.size());
    const std::int64_t count =
        wanted == 0 ? 0 : bytes_.read(zip_->begin + at_, MutableBytes{room_}.first(wanted));
    if (count < 0) {
        trouble_.set({.kind = ReadTrouble::Kind::unreadable, .cause = errno});
    }
    at_ += static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
    *out = room_.data();
    return count;
}

la_int64_t ArchiveReader::skip_zip(la_int64_t wanted) {
    const std::uint64_t left = zip_->end - zip_->begin - at_;
    const auto count = std::min(static_cast<std::uint64_t>(wanted), left);
    at_ += count;
    return static_cast<la_int64_t>(count);
}

la_int64_t ArchiveReader::seek_zip(la_int64_t offset, int whence) {
    const auto size = static_cast<la_int64_t>(zip_->end - zip_->begin);
    la_int64_t base = 0;
    if (whence != SEEK_SET) {
        base = whence == SEEK_END ? size : static_cast<la_int64_t>(at_);
    }
    if (offset < -base || offset > size - base) {
        return ARCHIVE_FATAL;
    }
    at_ = static_cast<std::uint64_t>(base + offset);
    return base + offset;
}

ArchiveReader::Next ArchiveReader::next() {
    const int got = archive_ ? archive_read_next_header(archive_.get(), &entry_) : ARCHIVE_EOF;
    if (got == ARCHIVE_EOF) {
        if (!zip_ || members_ == zip_->members.size()) {
            return Next::end;
        }
        trouble_.set({.kind = ReadTrouble::Kind::damaged,
                      .why = "the directory of the zip is not where its end says"});
        return Next::failed;
    }
    const char* warning = got == ARCHIVE_WARN ? archive_error_string(archive_.get()) : nullptr;
    const bool is_failed = (got != ARCHIVE_OK && got != ARCHIVE_WARN) ||
                           (warning != nullptr && is_error(warning)) ||
                           (zip_ && members_ == zip_->members.size());
    if (is_failed) {
        trouble_.set(trouble_of(archive_.get()));
        return Next::failed;
    }
    ++members_;
    return !zip_ || fits_in_memory() ? Next::member : Next::failed;
}

/// The memory that the entry's decoder takes, where libarchive does not bound it, by the first
/// bytes of the data (APPNOTE.TXT 5.8.8, 5.10); "xz" may name more in each of its blocks.
std::uint64_t ArchiveReader::memory_wanted() {
    constexpr std::size_t kDictionaryAt = 5;
    constexpr std::size_t kHeadBytes = kDictionaryAt + 4;
    const std::string_view format = archive_format_name(archive_.get());
    const bool is_lzma = format.ends_with("(lzma)");
    const bool is_ppmd = format.ends_with("(ppmd-1)");
    if (!is_lzma && !is_ppmd) {
        return format.ends_with("(xz)") ? ~std::uint64_t{0} : 0;
    }
    const std::uint64_t begin =
        zip_->begin + static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), 0));
    std::array<std::byte, kHeadBytes> head{};
    std::int64_t got = 1;
    for (std::size_t at = 0; at < head.size() && got > 0; at += static_cast<std::size_t>(got)) {
        got = bytes_.read(begin + at, MutableBytes{head}.subspan(at));
    }
    const auto number = [&head](std::size_t at, std::size_t count) {
        std::uint64_t value = 0;
        for (std::size_t i = at + count; i-- > at;) {
            value = (value << 8U) | std::to_integer<std::uint64_t>(head[i]);
        }
        return value;
    };
    return is_lzma ? number(kDictionaryAt, 4) : (((number(0, 2) >> 4U) & 0xffU) + 1) << 20U;
}

/// Checks the entry before its first byte is decoded.
bool ArchiveReader::fits_in_memory() {
    if (memory_wanted() > kDecoderBytesMax) {
        trouble_.set({.kind = ReadTrouble::Kind::unsupported,
                      .why = "its compression may take more memory than " +
                             std::to_string(kDecoderBytesMax >> 20U) + " MiB"});
        return false;
    }
    return true;
}

std::optional<std::string> ArchiveReader::name() const {
    if (zip_) {
        return zip_->members[members_ - 1].name;
    }
    const char* name = archive_entry_pathname(entry_);
    return name == nullptr ? std::nullopt : std::optional<std::string>{name};
}

std::uint16_t ArchiveReader::mode() const {
    const auto mode = static_cast<std::uint16_t>(archive_entry_perm(entry_) & 07777U);
    return zip_ ? zip_->members[members_ - 1].mode.value_or(mode) : mode;
}

ArchiveReader::Next ArchiveReader::data(Bytes& bytes, std::uint64_t& offset) {
    const void* begin = nullptr;
    std::size_t size = 0;
    la_int64_t at = 0;
    const int got = archive_read_data_block(archive_.get(), &begin, &size, &at);
    if (got == ARCHIVE_EOF) {
        return Next::end;
    }
    if (got != ARCHIVE_OK || at < 0) {
        trouble_.set(trouble_of(archive_.get()));
        return Next::failed;
    }
    bytes = {static_cast<const std::byte*>(begin), size};
    offset = static_cast<std::uint64_t>(at);
    return Next::member;
}

bool ArchiveReader::finish() {
    return zip_ || decompression_.finish();
}

/// The mark is a block of zeros in place of the next entry, which libarchive has consumed. As
/// with tar(1), one block is enough, and the bytes behind it do not matter. Zeros at the end of
/// the last entry belong to that entry.
bool ArchiveReader::is_ended() const {
    if (zip_) {
        return true;
    }
    const auto used = static_cast<std::uint64_t>(archive_filter_bytes(archive_.get(), 0));
    const std::uint64_t begin = at_ - held_;  // The offset at which `room_` begins.
    if (used <= static_cast<std::uint64_t>(archive_read_header_position(archive_.get())) ||
        used > at_ || used < begin || (used > begin && used - begin < kTarBlockBytes)) {
        return false;
    }
    const Bytes block =
        used == begin ? Bytes{last_}
                      : Bytes{room_}.subspan(used - begin - kTarBlockBytes, kTarBlockBytes);
    return !block.empty() &&
           std::ranges::all_of(block, [](std::byte one) { return one == std::byte{0}; });
}

}  // namespace stage
