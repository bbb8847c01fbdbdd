#include "stager/files/sink/file_sink.h"

#include "stager/disk/disk_error.h"
#include "stager/files/manifest/digest.h"
#include "stager/files/reuse/tree_spool.h"
#include "stager/files/targets/destination_checks.h"
#include "stager/files/targets/new_target.h"
#include "stager/files/targets/outside_entries.h"
#include "stager/files/targets/program_choice.h"
#include "stager/removal/stage_lists.h"

#include <fcntl.h>

namespace stage {
namespace {

bool is_closed_for_writing(const SinkTarget& entry) {
    const int fd = entry.target ? entry.target->descriptor() : -1;
    return fd < 0 || (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

bool all_are_closed_for_writing(const SinkTargets& targets) {
    bool all = true;
    for (std::size_t index = 0; all && index < targets.size(); ++index) {
        all = is_closed_for_writing(targets[index]);
    }
    return all;
}

}  // namespace

Result<Placing> FileSink::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    if (targets_.failure()) {
        return *targets_.failure();
    }
    return manifest_ && block.value() >= manifest_->own_block_count()
               ? blocks_->write(block, bytes, leaf)
               : gather_manifest(block, bytes);
}

Status FileSink::expect(Bytes manifest) {
    manifest_blocks_.assign(manifest);
    return take_manifest();
}

Status FileSink::look(Bytes manifest) {
    manifest_blocks_.assign(manifest);
    return decide_all();
}

Result<Placing> FileSink::gather_manifest(BlockIndex block, Bytes bytes) {
    Result<Placing> placing = manifest_blocks_.write(block, bytes);
    if (!manifest_ && manifest_blocks_.is_complete()) {
        TRY(take_manifest());
    }
    return placing;
}

Status FileSink::take_manifest() {
    Status taken = decide_all();
    if (taken) {
        taken = begin_all();
    }
    if (!taken) {
        targets_.fail(taken.error());
    }
    return taken;
}

Status FileSink::decide_all() {
    TRY(auto manifest, decode_manifest(manifest_blocks_.bytes()));
    const std::uint64_t bytes = manifest.file_bytes();
    if (config_.bytes_max != 0 && bytes > config_.bytes_max) {
        return too_many_bytes(bytes, config_.bytes_max);
    }
    manifest_ = std::move(manifest);
    bytes_expected_ = manifest_->stream_bytes();
    targets_.resize(manifest_->entries.size());
    blocks_.emplace(*manifest_, targets_);
    fill_.emplace(*manifest_, targets_, *blocks_);
    TRY(auto all, orders());
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        if (Status decided = decide(index, std::move((all)[index])); !decided) {
            return decided;
        }
    }
    if (Status apart = check_nesting(targets_); !apart) {
        return apart;
    }
    if (Status present = check_needed_paths(targets_); !present) {
        return present;
    }
    return check_room(targets_);
}

Result<std::vector<SinkOrder>> FileSink::orders() const {
    std::vector<SinkOrder> orders;
    for (const ManifestEntry& entry : manifest_->entries) {
        TRY(auto order, config_.order_of(entry));
        orders.push_back(std::move(order));
    }
    choose_programs(*manifest_, orders);
    return orders;
}

Status FileSink::decide(std::size_t index, SinkOrder order) {
    const ManifestEntry& entry = manifest_->entries[index];
    targets_.set_order(index, order, entry.spec, config_.list_directory);
    if (order.is_of_program && targets_.is_given_up(entry.spec)) {
        return {};
    }
    if (!entry.trouble.empty()) {
        return targets_.end_entry(index, Error{entry.blame, entry.trouble});
    }
    const std::string path = order.target.place.path();
    if (!targets_.claim(path)) {
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
    const bool is_executed = order.is_of_program;
    Result<std::unique_ptr<Target>> target =
        new_target(std::move(order.target), entry, config_.writer, config_.bytes_max);
    if (target && is_executed && (*target)->directory().is_noexec) {
        target =
            Error{Blame::user,
                  (*target)->path() +
                      ": its file system is mounted noexec, no program starts there and no "
                      "library is loaded from there"}
                .remedy("choose a destination elsewhere, or ask the administrator");
    }
    if (!target) {
        return targets_.give_up(index, std::move(target).error());
    }
    targets_.put(index, *std::move(target));
    return {};
}

Status FileSink::begin_all() {
    Status extended = extend_cleanup_list(entries_in_progress(targets_));
    return extended ? targets_.each(&Target::begin) : extended;
}

Status FileSink::extend_cleanup_list(Result<std::vector<std::string>> entries) const {
    if (!entries) {
        return std::move(entries).error();
    }
    return entries->empty() || !config_.extend_cleanup_list
               ? Status{}
               : config_.extend_cleanup_list(*entries);
}

Status FileSink::read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) {
    if (manifest_blocks_.holds(block)) {
        return manifest_blocks_.read_back(block, offset, room);
    }
    return blocks_ ? blocks_->read_back(block, offset, room)
                   : Status{Error{Blame::internal, "this block is not held here"}};
}

/// Once only: what a failed attempt has given a name has no temporary one any more.
Status FileSink::finish() {
    if (!finished_) {
        finished_ = give_files();
    }
    return *finished_;
}

Status FileSink::give_files() {
    if (targets_.failure()) {
        return *targets_.failure();
    }
    if (!holds_all()) {
        return malformed_object("blocks are missing at its end");
    }
    if (Status settled = targets_.each(&Target::settle); !settled) {
        return settled;
    }
    invariant(all_are_closed_for_writing(targets_),
              "a file is closed for writing before its user learns of it");
    if (Status extended = extend_cleanup_list(entries_named(targets_)); !extended) {
        return extended;
    }
    if (Status named = give_names(); !named) {
        return named;
    }
    Status linked = links_.link(targets_);
    return linked ? list_files() : linked;
}

Status FileSink::give_names() {
    Status named = targets_.give_names();
    if (named && config_.made && !warnings().empty()) {
        config_.made->prune();
    }
    return named;
}

Status FileSink::list_files() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> files;
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        files.push_back(path(index));
    }
    return write_files_list(config_.list_directory, files);
}

Status FileSink::fill(const CacheAccess& cache) {
    invariant(fill_.has_value(), "what is to come is known before it is looked for");
    return fill_->fill(cache);
}

Status FileSink::resume(const std::function<Status()>& check) {
    invariant(fill_.has_value(), "what is to come is known before it is looked for");
    return fill_->resume(check);
}

Status FileSink::resume_from(const PriorCopies& prior, const CacheAccess& cache) {
    invariant(fill_.has_value(), "what is to come is known before it is looked for");
    return fill_->resume_from(prior, cache);
}

std::optional<Digest128> FileSink::read_filled(BlockIndex block, MutableBytes room) {
    return fill_ ? fill_->read(block, room) : std::nullopt;
}

std::vector<core::BlockRun> FileSink::held_runs() const {
    return blocks_ ? blocks_->held().runs() : std::vector<core::BlockRun>{};
}

bool FileSink::holds(BlockIndex block) const {
    return blocks_ && blocks_->held().holds(block);
}

std::vector<FileInProgress> FileSink::in_progress(std::size_t most) const {
    const auto is_filled = [this](std::size_t index) { return fill_->is_filled(index); };
    return manifest_ ? files_in_progress(*manifest_, targets_, is_filled, most)
                     : std::vector<FileInProgress>{};
}

std::vector<CacheCandidate> FileSink::cache_candidates(std::size_t most) const {
    return manifest_ ? stage::cache_candidates(*manifest_, targets_, blocks_->held(), most)
                     : std::vector<CacheCandidate>{};
}

std::optional<CacheCandidate> FileSink::spooled(std::size_t index,
                                                const std::function<bool()>& may_go_on) const {
    Target* tree = targets_[index].target.get();
    return tree == nullptr || fill_->is_filled(index)
               ? std::nullopt
               : spool_tree(*manifest_, index, *tree, blocks_->held(), may_go_on);
}

std::string FileSink::digest() const {
    return blocks_ ? blocks_->held().digest() : digest_of({});
}

}  // namespace stage
