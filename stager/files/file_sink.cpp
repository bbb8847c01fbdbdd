#include "stager/files/file_sink.h"

#include "stager/files/disk_error.h"
#include "stager/files/stage_lists.h"

#include <algorithm>
#include <map>

namespace stage {
namespace {

Error malformed(std::string_view what) {
    return {Blame::internal, "the object does not fit its manifest: " + std::string{what}};
}

}  // namespace

Result<Placing> FileSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    return manifest_ && block.value() >= first_file_block_
               ? write_file_block(block, bytes, leaf)
               : gather_manifest(block, bytes);
}

Status FileSink::expect(Bytes manifest) {
    invariant(manifest_bytes_.empty(), "a manifest is expected before its blocks");
    manifest_bytes_.assign(manifest.begin(), manifest.end());
    manifest_held_.assign((manifest.size() + kBlockBytes - 1) / kBlockBytes, true);
    return take_manifest();
}

Status FileSink::compare_manifest(std::size_t begin, Bytes bytes) const {
    const Bytes rest = Bytes{manifest_bytes_}.subspan(std::min(begin, manifest_bytes_.size()));
    const Bytes held = rest.first(std::min<std::size_t>(rest.size(), kBlockBytes));
    const bool is_same = std::equal(bytes.begin(), bytes.end(), held.begin(), held.end());
    return is_same ? Status{} : Status{malformed("another one was offered")};
}

Result<Placing> FileSink::gather_manifest(BlockIndex block, Bytes bytes) {
    if (manifest_) {
        const Status same = compare_manifest(block.index() * kBlockBytes, bytes);
        return same ? Result<Placing>{Placing::placed} : same.error();
    }
    if (manifest_bytes_.empty()) {
        if (block != BlockIndex{0}) {
            return Placing::deferred;
        }
        const std::optional<std::size_t> length = manifest_length(bytes);
        if (!length) {
            return malformed("there is none");
        }
        manifest_bytes_.resize(*length);
        manifest_held_.resize((*length + kBlockBytes - 1) / kBlockBytes);
    }
    if (block.index() >= manifest_held_.size()) {
        return Placing::deferred;
    }
    const std::size_t begin = block.index() * kBlockBytes;
    const std::size_t length =
        std::min<std::size_t>(kBlockBytes, manifest_bytes_.size() - begin);
    if (bytes.size() != length) {
        return malformed("a block's length");
    }
    std::copy(bytes.begin(),
              bytes.end(),
              manifest_bytes_.begin() + static_cast<std::ptrdiff_t>(begin));
    manifest_held_[block.index()] = true;
    if (std::find(manifest_held_.begin(), manifest_held_.end(), false) ==
        manifest_held_.end()) {
        if (Status taken = take_manifest(); !taken) {
            return std::move(taken).error();
        }
    }
    return Placing::placed;
}

Status FileSink::take_manifest() {
    Result<Manifest> manifest = decode_manifest(manifest_bytes_);
    if (!manifest) {
        return std::move(manifest).error();
    }
    manifest_ = *std::move(manifest);
    first_file_block_ = manifest_->own_block_count();
    missing_ = manifest_->block_count() - first_file_block_;
    bytes_expected_ = manifest_->file_bytes();
    leaves_.resize(missing_);
    held_.resize(missing_);
    targets_.resize(manifest_->entries.size());
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        if (Status decided = decide(index); !decided) {
            return decided;
        }
    }
    if (Status room = check_space(); !room) {
        return room;
    }
    return begin_all();
}

Status FileSink::decide(std::size_t index) {
    const ManifestEntry& entry = manifest_->entries[index];
    Result<SinkOrder> order = config_.order_of(entry);
    if (!order) {
        return std::move(order).error();
    }
    Target& target = targets_[index];
    target.is_optional = order->is_optional;
    target.is_temporary = order->is_temporary;
    target.is_outside = order->target.place.root != config_.list_directory &&
                        !order->target.place.root.starts_with(config_.list_directory + '/');
    if (!entry.trouble.empty()) {
        return give_up(index, Error{entry.blame, entry.trouble});
    }
    const std::string path = order->target.place.path();
    if (!paths_.insert(path).second) {
        return Error{Blame::user, path + ": two files of the stage have this destination"};
    }
    if (config_.identity_of) {
        order->target.source = config_.identity_of(index);
    }
    Result<TargetFile> file =
        TargetFile::decide(std::move(order->target), entry, config_.writer);
    if (!file) {
        return give_up(index, std::move(file).error());
    }
    target.file.emplace(*std::move(file));
    return {};
}

/// Each disk has room for all that is to lie on it. What else is written there meanwhile, and
/// what no file system promises, shows when the room is taken.
Status FileSink::check_space() const {
    std::map<std::uint64_t, std::uint64_t> needed;
    for (const Target& target : targets_) {
        if (!target.file) {
            continue;
        }
        std::uint64_t& sum = needed[target.file->device()];
        sum += target.file->bytes_needed();
        if (sum > target.file->free_bytes() && !target.is_optional) {
            return target_error(target.file->path(), ENOSPC)
                .remedy(in_words(sum) + " are needed and " +
                        in_words(target.file->free_bytes()) + " free");
        }
    }
    return {};
}

Status FileSink::begin_all() {
    if (Status listed = list_unfinished(); !listed) {
        return listed;
    }
    return each(&TargetFile::begin);
}

Status FileSink::list_unfinished() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> paths;
    for (const Target& target : targets_) {
        if (target.file && target.is_outside && target.file->bytes_needed() > 0) {
            paths.push_back(target.file->temporary_path());
        }
    }
    return write_stage_list(config_.list_directory, kRemoveList, paths);
}

Result<Placing> FileSink::write_file_block(BlockIndex block,
                                           Bytes bytes,
                                           const Digest128& leaf) {
    const std::optional<BlockPlace> place = find_block(*manifest_, block);
    if (!place || bytes.size() != place->length) {
        return malformed(place ? "a block's length" : "a block beyond its end");
    }
    const std::size_t index = block.index() - first_file_block_;
    Target& target = targets_[place->entry];
    Result<Placing> placing =
        target.file ? target.file->write(place->offset, bytes) : Placing::discarded;
    if (!placing) {
        if (Status ended = give_up(place->entry, std::move(placing).error()); !ended) {
            return std::move(ended).error();
        }
        placing = Placing::discarded;
    }
    if (!held_[index]) {
        held_[index] = true;
        leaves_[index] = leaf;
        --missing_;
        bytes_held_ += bytes.size();
    }
    return placing;
}

Status FileSink::read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) {
    const Error absent{Blame::internal, "this block is not held here"};
    const std::size_t begin = block.index() * kBlockBytes + offset;
    if (block.index() < manifest_held_.size() && manifest_held_[block.index()]) {
        if (room.size() > manifest_bytes_.size() - std::min(begin, manifest_bytes_.size())) {
            return absent;
        }
        std::copy_n(manifest_bytes_.begin() + static_cast<std::ptrdiff_t>(begin),
                    room.size(),
                    room.begin());
        return {};
    }
    const std::optional<BlockPlace> place =
        manifest_ ? find_block(*manifest_, block) : std::nullopt;
    if (!place || !held_[block.index() - first_file_block_] || !targets_[place->entry].file ||
        std::uint64_t{offset} + room.size() > place->length) {
        return absent;
    }
    return targets_[place->entry].file->read_back(place->offset + offset, room);
}

Status FileSink::finish() {
    if (!manifest_ || missing_ != 0) {
        return malformed("blocks are missing at its end");
    }
    if (Status settled = each(&TargetFile::settle); !settled) {
        return settled;
    }
    if (Status named = each(&TargetFile::appear); !named) {
        return named;
    }
    return write_lists();
}

Status FileSink::write_lists() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> files;
    std::vector<std::string> outside;
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        files.push_back(path(index));
        if (targets_[index].file && targets_[index].is_outside &&
            targets_[index].is_temporary) {
            outside.push_back(files.back());
        }
    }
    Status written = write_stage_list(config_.list_directory, kRemoveList, outside);
    return written ? write_stage_list(config_.list_directory, kFilesList, files)
                   : std::move(written);
}

std::string FileSink::path(std::size_t index) const {
    return targets_[index].file ? targets_[index].file->path() : std::string{};
}

Status FileSink::each(Status (TargetFile::*step)()) {
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        Status done = targets_[index].file ? (*targets_[index].file.*step)() : Status{};
        if (!done) {
            done = give_up(index, std::move(done).error());
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

/// The end of one file: a note if it is optional, an error for all of them if not.
Status FileSink::give_up(std::size_t index, Error why) {
    targets_[index].file.reset();
    if (!targets_[index].is_optional) {
        return why;
    }
    troubles_.push_back(std::move(why));
    return {};
}

}  // namespace stage
