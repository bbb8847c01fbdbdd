#include "stager/files/sink/file_sink.h"

#include "stager/disk/disk_error.h"
#include "stager/files/archive/target_archive.h"
#include "stager/files/sink/room_needed.h"
#include "stager/files/target/target_file.h"
#include "stager/files/tree/target_tree.h"

#include <fcntl.h>

#include <algorithm>

namespace stage {
namespace {

Result<std::unique_ptr<Target>> decide_target(TargetOrder order,
                                              const ManifestEntry& entry,
                                              const SinkConfig& config) {
    const Writer& writer = config.writer;
    if (!order.archive.empty()) {
        Result<std::unique_ptr<TargetArchive>> archive =
            TargetArchive::decide(std::move(order), entry, writer, config.bytes_max);
        if (!archive) {
            return std::move(archive).error();
        }
        return std::unique_ptr<Target>{*std::move(archive)};
    }
    if (entry.is_tree()) {
        Result<std::unique_ptr<TargetTree>> tree =
            TargetTree::decide(std::move(order), entry, writer);
        if (!tree) {
            return std::move(tree).error();
        }
        return std::unique_ptr<Target>{*std::move(tree)};
    }
    Result<TargetFile> file = TargetFile::decide(std::move(order), entry, writer);
    if (!file) {
        return std::move(file).error();
    }
    return std::unique_ptr<Target>{std::make_unique<TargetFile>(*std::move(file))};
}

/// So many have their descriptors (two of a file) all the time.
constexpr std::size_t kMaxAwake = 128;

Error malformed(std::string_view what) {
    return {Blame::internal, "the object does not fit its manifest: " + std::string{what}};
}

}  // namespace

Result<Placing> FileSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    if (failure_) {
        return *failure_;
    }
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

Status FileSink::look(Bytes manifest) {
    manifest_bytes_.assign(manifest.begin(), manifest.end());
    return decide_all();
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
    Status taken = decide_all();
    if (taken) {
        taken = begin_all();
    }
    if (!taken) {
        failure_ = taken.error();
    }
    return taken;
}

Status FileSink::decide_all() {
    Result<Manifest> manifest = decode_manifest(manifest_bytes_);
    if (!manifest) {
        return std::move(manifest).error();
    }
    const std::uint64_t bytes = manifest->file_bytes();
    if (config_.bytes_max != 0 && bytes > config_.bytes_max) {
        return too_many_bytes(bytes, config_.bytes_max);
    }
    manifest_ = *std::move(manifest);
    first_file_block_ = manifest_->own_block_count();
    missing_ = manifest_->block_count() - first_file_block_;
    bytes_expected_ = manifest_->stream_bytes();
    leaves_.resize(missing_);
    held_.resize(missing_);
    places_.resize(manifest_->entries.size());
    std::vector<SinkOrder> orders;
    for (const ManifestEntry& entry : manifest_->entries) {
        Result<SinkOrder> order = config_.order_of(entry);
        if (!order) {
            return std::move(order).error();
        }
        orders.push_back(*std::move(order));
    }
    weigh_programs(orders);
    for (std::size_t index = 0; index < places_.size(); ++index) {
        if (Status decided = decide(index, std::move(orders[index])); !decided) {
            return decided;
        }
    }
    if (Status apart = check_nesting(); !apart) {
        return apart;
    }
    if (Status served = check_needed_paths(); !served) {
        return served;
    }
    return check_space();
}

Status FileSink::decide(std::size_t index, SinkOrder order) {
    const ManifestEntry& entry = manifest_->entries[index];
    Place& place = places_[index];
    place.is_optional = order.is_optional;
    place.is_temporary = order.is_temporary;
    place.is_library = order.is_library;
    place.is_of_program = order.is_of_program;
    place.is_for_all = order.is_for_all;
    place.needed_paths = std::move(order.needed_paths);
    place.is_outside = order.target.place.root != config_.list_directory &&
                       !order.target.place.root.starts_with(config_.list_directory + '/');
    if (place.is_of_program && given_up_.contains(entry.spec)) {
        return {};
    }
    if (!entry.trouble.empty()) {
        return end_one(index, Error{entry.blame, entry.trouble});
    }
    const std::string path = order.target.place.path();
    if (!paths_.insert(path).second) {
        return Error{Blame::user, path + ": two files of the stage have this destination"}
            .within(order.where.empty() ? "the option" : order.where);
    }
    if (config_.identity_of) {
        order.target.source = config_.identity_of(index);
    }
    if (config_.above) {
        order.target.above_source = config_.above(index);
    }
    order.target.page_room = page_shares_.take(entry.size);
    Result<std::unique_ptr<Target>> target =
        decide_target(std::move(order.target), entry, config_);
    if (!target) {
        return give_up(index, std::move(target).error());
    }
    place.target = *std::move(target);
    if (const auto& made = place.target->directory().made) {
        made_.emplace(entry.spec, made);
    }
    static_cast<void>(use(index));
    return {};
}

/// A tree replaces all that lies below its name: nothing else of the stage may.
Status FileSink::check_nesting() const {
    for (std::size_t index = 0; index < places_.size(); ++index) {
        if (!places_[index].target || !places_[index].target->is_directory()) {
            continue;
        }
        const std::string below = places_[index].target->path() + '/';
        const auto next = paths_.lower_bound(below);
        if (next != paths_.end() && next->starts_with(below)) {
            return Error{Blame::user, *next + ": lies in a directory that is staged, too"}
                .remedy("give one of them another destination, as in SRC:DST");
        }
    }
    return {};
}

/// Each disk has room for all that is to lie on it. What else is written there meanwhile, and
/// what no file system promises, shows when the room is taken. The optional ones get what the
/// others leave, in their order.
Status FileSink::check_space() {
    RoomNeeded needed;
    for (const bool is_optional : {false, true}) {
        for (std::size_t index = 0; index < places_.size(); ++index) {
            if (!places_[index].target || places_[index].is_optional != is_optional) {
                continue;
            }
            Status fits = needed.add(*places_[index].target);
            if (!fits) {
                fits = give_up(index, std::move(fits).error());
            }
            if (!fits) {
                return fits;
            }
        }
    }
    return {};
}

Status FileSink::begin_all() {
    Status told = tell_begun();
    return told ? each(&Target::begin) : told;
}

Result<Placing> FileSink::write_file_block(BlockIndex block,
                                           Bytes bytes,
                                           const Digest128& leaf) {
    const std::optional<BlockPlace> place = find_block(*manifest_, block);
    if (!place || bytes.size() != place->length) {
        return malformed(place ? "a block's length" : "a block beyond its end");
    }
    const std::size_t index = block.index() - first_file_block_;
    Target* target = use(place->entry);
    if (held_[index]) {
        return target != nullptr ? Placing::placed : Placing::discarded;
    }
    Result<Placing> placing =
        target != nullptr ? target->write(place->offset, bytes) : Placing::discarded;
    if (!placing) {
        if (Status ended = give_up(place->entry, std::move(placing).error()); !ended) {
            return std::move(ended).error();
        }
        placing = Placing::discarded;
    }
    if (*placing == Placing::deferred) {
        return placing;
    }
    if (target != nullptr && *placing == Placing::placed) {
        target->note(place->offset, leaf);
    }
    hold(block, *place, leaf);
    return placing;
}

void FileSink::hold(BlockIndex block, const BlockPlace& place, const Digest128& leaf) {
    const std::size_t index = block.index() - first_file_block_;
    held_[index] = true;
    leaves_[index] = leaf;
    --missing_;
    bytes_held_ += place.length;
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
    if (!place || !held_[block.index() - first_file_block_] || !places_[place->entry].target ||
        std::uint64_t{offset} + room.size() > place->length) {
        return absent;
    }
    return use(place->entry)->read_back(place->offset + offset, room);
}

Status FileSink::finish() {
    if (failure_) {
        return *failure_;
    }
    if (!manifest_ || missing_ != 0) {
        return malformed("blocks are missing at its end");
    }
    if (Status settled = each(&Target::settle); !settled) {
        return settled;
    }
    invariant(std::ranges::all_of(places_, is_closed_for_writing),
              "a file is closed for writing before its user is told of it");
    if (Status told = tell_named(); !told) {
        return told;
    }
    if (Status named = give_names(); !named) {
        return named;
    }
    Status linked = link_libraries();
    return linked ? list_files() : linked;
}

bool FileSink::is_closed_for_writing(const Place& place) {
    const int fd = place.target ? place.target->descriptor() : -1;
    return fd < 0 || (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

Target* FileSink::use(std::size_t index) const {
    Target* before = places_[used_].target.get();
    if (used_ != index && used_ >= kMaxAwake && before != nullptr) {
        before->rest();
    }
    used_ = index;
    return places_[index].target.get();
}

std::string FileSink::path(std::size_t index) const {
    return places_[index].target ? places_[index].target->path() : std::string{};
}

Status FileSink::each(Status (Target::*step)()) {
    for (std::size_t index = 0; index < places_.size(); ++index) {
        Target* target = use(index);
        Status done = target != nullptr ? (target->*step)() : Status{};
        if (!done) {
            done = give_up(index, std::move(done).error());
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

/// What the source says of a list's line tells of the line already; what fails here does not.
Status FileSink::give_up(std::size_t index, Error why) {
    const Result<SinkOrder> order = config_.order_of(manifest_->entries[index]);
    const std::string where = order ? order->where : std::string{};
    return end_one(index, where.empty() ? std::move(why) : std::move(why).within(where));
}

/// The end of one file: a note if it is optional, an error for all of them if not.
Status FileSink::end_one(std::size_t index, Error why) {
    places_[index].target.reset();
    if (!places_[index].is_optional) {
        failure_ = why;
        return why;
    }
    const bool is_of_program = places_[index].is_of_program;
    if (!is_of_program || !given_up_.contains(manifest_->entries[index].spec)) {
        troubles_.push_back(std::move(why));
    }
    if (is_of_program) {
        give_up_program(manifest_->entries[index].spec);
    }
    return {};
}

}  // namespace stage
