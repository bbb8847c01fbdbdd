#include "stager/files/source/file_source.h"

#include "stager/disk/disk_error.h"

#include <algorithm>

namespace stage {
namespace {

/// The maximum number of files that stay open all the time.
constexpr std::size_t kMaxAwake = 128;

/// The manifest entry of a file that cannot be sent.
ManifestEntry note_of(const SourceOrder& order, const Error& why) {
    ManifestEntry entry;
    const std::size_t slash = order.path.rfind('/');
    entry.name = slash == std::string::npos ? order.path : order.path.substr(slash + 1);
    if (entry.name.empty() || entry.name == "." || entry.name == ".." ||
        entry.name.size() > kMaxFileNameBytes) {
        entry.name = "unnamed";
    }
    constexpr std::size_t kSentenceBytes = 1024;
    entry.trouble = why.sentence().substr(0, kSentenceBytes);
    entry.blame = why.blame();
    return entry;
}

/// Records which file an entry is, and its content as far as it is known. For plain files,
/// archives and trees.
void identify(const SourceItem& item, const KnownContent& known, ManifestEntry& entry) {
    const auto stamp = item.stamp();
    if (!stamp || !entry.shape.empty() || entry.size == 0) {
        return;
    }
    entry.stamp.assign(stamp->begin(), stamp->end());
    if (const auto content = known(*stamp)) {
        entry.content = bytes_of(*content);
    }
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::open(const std::vector<SourceOrder>& orders,
                                                     std::uint64_t bytes_max,
                                                     const KnownContent& known,
                                                     std::uint64_t page_room) {
    std::vector<std::unique_ptr<SourceItem>> items;
    PageShares shares{page_room};
    HeldRoom room;
    Manifest manifest;
    std::uint64_t bytes = 0;
    for (const SourceOrder& order : orders) {
        Result<std::unique_ptr<SourceItem>> item =
            order.trouble ? Result<std::unique_ptr<SourceItem>>{*order.trouble}
                          : open_source(order.path, order.is_plain, order.choice, room);
        if (!item && !order.where.empty()) {
            item = std::move(item).error().within(order.where);
        }
        if (!item && !order.is_optional) {
            return std::move(item).error();
        }
        ManifestEntry entry = item ? (*item)->describe() : note_of(order, item.error());
        entry.spec = order.spec;
        entry.line = order.line;
        if (item) {
            (*item)->keep_pages(shares.take(entry.size));
        }
        if (item && known) {
            identify(**item, known, entry);
        }
        bytes += entry.size;
        if (bytes_max != 0 && bytes > bytes_max) {
            return too_many_bytes(bytes, bytes_max);
        }
        if (item && items.size() >= kMaxAwake) {
            (*item)->rest();
        }
        manifest.entries.push_back(std::move(entry));
        items.push_back(item ? *std::move(item) : nullptr);
    }
    TRY(manifest.lay_out());
    return std::make_unique<FileSource>(std::move(items), std::move(manifest));
}

FileSource::FileSource(std::vector<std::unique_ptr<SourceItem>> items, Manifest manifest)
    : items_{std::move(items)},
      manifest_{std::move(manifest)},
      manifest_bytes_{encode_manifest(manifest_)},
      block_count_{manifest_.block_count()},
      first_file_block_{manifest_.own_block_count()},
      leaves_(block_count_ - first_file_block_),
      is_read_(block_count_ - first_file_block_) {
    for (const ManifestEntry& entry : manifest_.entries) {
        unread_.push_back(entry.block_count());
    }
}

std::uint32_t FileSource::block_length(BlockIndex block) const {
    invariant(block.value() < block_count_, "a block of the object is asked for");
    if (const auto place = find_block(manifest_, block)) {
        return place->length;
    }
    const std::size_t begin = block.index() * kBlockBytes;
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(kBlockBytes, manifest_bytes_.size() - begin));
}

Result<SourceBlock> FileSource::read(BlockIndex block, MutableBytes room) {
    const std::uint32_t length = block_length(block);
    invariant(room.size() >= length, "a block has room");
    if (block.value() < first_file_block_) {
        const Bytes bytes = Bytes{manifest_bytes_}.subspan(block.index() * kBlockBytes, length);
        std::copy(bytes.begin(), bytes.end(), room.begin());
        return SourceBlock{.length = length, .leaf = xxh3_128(bytes)};
    }
    const MutableBytes bytes = room.first(length);
    TRY(read_file_block(block, bytes));
    const Digest128 leaf = xxh3_128(bytes);
    TRY(keep_to_it(block, bytes, leaf));
    return SourceBlock{.length = length, .leaf = leaf};
}

SourceItem& FileSource::use(std::size_t index) {
    if (used_ != index && used_ >= kMaxAwake && items_[used_]) {
        items_[used_]->rest();
    }
    used_ = index;
    return *items_[index];
}

Status FileSource::read_file_block(BlockIndex block, MutableBytes room) {
    const auto place = find_block(manifest_, block);
    invariant(place && items_[place->entry], "a file block has a file");
    Status done = use(place->entry).read(place->offset, room);
    bytes_read_ += done ? room.size() : 0;
    return done;
}

Status FileSource::keep_to_it(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    const auto place = find_block(manifest_, block);
    const std::size_t index = block.index() - first_file_block_;
    if (is_read_[index]) {
        return leaf == leaves_[index]
                   ? Status{}
                   : items_[place->entry]->changed_error(place->offset, bytes.size());
    }
    leaves_[index] = leaf;
    is_read_[index] = true;
    // The last block of a changed file is never sent.
    return --unread_[place->entry] == 0 ? use(place->entry).unchanged() : Status{};
}

Status FileSource::finish() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
        Status same = unread_[i] > 0 && items_[i] ? use(i).unchanged() : Status{};
        if (!same) {
            return same;
        }
    }
    return {};
}

std::optional<FileIdentity> FileSource::identity(std::size_t index) const {
    return items_[index] ? std::optional{items_[index]->identity()} : std::nullopt;
}

std::vector<FileIdentity> FileSource::above(std::size_t index) const {
    return items_[index] ? items_[index]->above() : std::vector<FileIdentity>{};
}

std::string FileSource::remarks() const {
    std::string all;
    for (const std::unique_ptr<SourceItem>& item : items_) {
        const std::string words = item ? item->remarks() : std::string{};
        all += (all.empty() || words.empty() ? "" : "; ") + words;
    }
    return all;
}

std::string FileSource::digest() const {
    const bool is_whole = std::ranges::find(is_read_, false) == is_read_.end();
    return is_whole ? digest_of(leaves_) : std::string{};
}

}  // namespace stage
