// How does an object of blocks become files again?
//
// The manifest's blocks come first to be known: until they are here every other block is
// deferred. Then each file gets its place (target_file.h), all the room it needs is taken, and
// blocks are written where they belong in whatever order they come; those of a directory tree
// once its index is here (target_tree.h). At the end all files settle and then appear under
// their names. A failure of one file ends all of them, except that one marked `optional` only
// ends itself.
//
// Whatever ends a sink early, its temporary files go with it.
#pragma once

#include "stager/content/content.h"
#include "stager/files/manifest/digest.h"
#include "stager/files/manifest/manifest.h"
#include "stager/files/target/target.h"
#include "transport/core/base/contract.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stage {

/// What is wanted of a manifest's entry on this node.
struct SinkOrder {
    TargetOrder target;
    bool is_optional = false;
    bool is_temporary = false;  ///< Outside the stage directory, but to be removed with it.
    bool is_library = false;    ///< In a directory that is made for a program's libraries.
    /// The entries of its spec are a program and its libraries: all of them come, or none.
    bool is_of_program = false;
    bool is_for_all = false;  ///< A library, loaded by any program that loads the spec's file.
    std::vector<std::string> needed_paths{};  ///< Must be on this node, or come to it.
    std::string where{};  ///< Which line of which list asks for it; empty: no list.
};

struct SinkConfig {
    Writer writer;
    /// Where its place is. Fails if nobody asked for such a file.
    std::function<Result<SinkOrder>(const ManifestEntry&)> order_of;
    /// On the source's own node: which file entry i is read from.
    std::function<std::optional<FileIdentity>(std::size_t)> identity_of;
    /// And which directories that lies in.
    std::function<std::vector<FileIdentity>(std::size_t)> above;
    std::string list_directory;  ///< Where ".stagecast" is; empty: no list of files is written.
    /// Extends the stage's cleanup list (cleanup_entry.h); empty: there is none.
    std::function<Status(const std::vector<std::string>& entries)> tell_left;
    /// What is made above files outside of the list directory. May be none.
    std::shared_ptr<MadeDirectories> made{};
    /// Bytes of all files together, and that an archive may become; 0: no limit.
    std::uint64_t bytes_max = 0;
    std::uint64_t page_room = kAllPages;  ///< Of all files, what may stay in memory.
};

class FileSink final : public BlockSink {
  public:
    explicit FileSink(SinkConfig config)
        : config_{std::move(config)}, page_shares_{config_.page_room} {}

    [[nodiscard]] Result<Placing> write(BlockIndex block,
                                        Bytes bytes,
                                        const Digest128& leaf) override;
    [[nodiscard]] Status read_back(BlockIndex block,
                                   std::uint32_t offset,
                                   MutableBytes room) override;
    [[nodiscard]] Status finish() override;

    /// The whole manifest, by another way than the blocks and before the first of them: every
    /// place is looked at, and all room taken. Its blocks are then only compared with it.
    [[nodiscard]] Status expect(Bytes manifest);
    /// As expect(), but nothing is made and no room taken: it only tells whether expect() would
    /// have gone well. Nothing else may be asked of this sink then.
    [[nodiscard]] Status look(Bytes manifest);

    /// Where bytes may be beforehand.
    struct Cached {
        /// For reading, once; nothing if they are not there.
        std::function<UniqueFd(const Content&)> find;
        /// What was found is not that content.
        std::function<void(const Content&)> spoilt;
        /// Asked at every block: an error ends it, for a long copy must hear who ends the work.
        std::function<Status()> check;
    };
    /// What is here already of what the manifest tells: each file whose content it names and
    /// that stands at its destination, or whose bytes are `cached`. What is not that content is
    /// not held. After expect().
    [[nodiscard]] Status fill(const Cached& cached);
    /// What came before an earlier push of the same file was broken off, as far as it is still
    /// what was noted then. After expect(). `check`: as Cached's.
    [[nodiscard]] Status take_up(const std::function<Status()>& check);

    /// What of a file came to this node before.
    struct PriorCopy {
        UniqueFd file{};  ///< For reading: a part (content/part_note.h), or all of it.
        std::optional<Content> whole{};  ///< It is all, and what it is said to be.
    };
    struct PriorCopies {
        std::function<PriorCopy(const SourceStamp&)> find;
        /// Asked at every block: what is not taken by then is left, for others wait.
        std::function<bool()> has_time;
    };
    /// The same of a job's stage, which leaves nothing at the destination: of what is noted the
    /// blocks that are found, as far as they are what was noted. After fill().
    [[nodiscard]] Status take_up_from(const PriorCopies& earliers, const Cached& cached);
    /// What is noted while it comes: files that this stage may be broken off at, at most so
    /// many. After expect().
    struct Begun {
        SourceStamp stamp{};
        std::uint64_t bytes = 0;  ///< When it is whole.
        UniqueFd file;            ///< For reading.
    };
    [[nodiscard]] std::vector<Begun> begun(std::size_t most) const;
    /// The object's blocks that are held, the manifest's with the first of a file; in order,
    /// and apart.
    [[nodiscard]] std::vector<core::BlockRun> held_runs() const;
    /// A block of a file that fill() found: its bytes and their leaf; nothing if it is of
    /// another file, or no more what it was.
    [[nodiscard]] std::optional<Digest128> read_filled(BlockIndex block, MutableBytes room);
    /// Of a file, and not needed any more.
    [[nodiscard]] bool holds(BlockIndex block) const;
    /// Nothing is needed but finish().
    [[nodiscard]] bool holds_all() const { return manifest_ && missing_ == 0; }
    /// That came from fill(), take_up() and take_up_from(), bytes.
    [[nodiscard]] std::uint64_t bytes_filled() const { return bytes_filled_; }

    /// Files that a later stage may know again, as they lie here, at most so many. After
    /// finish().
    struct CacheCandidate {
        SourceStamp stamp{};
        Digest128 sum{};
        std::uint64_t bytes = 0;
        UniqueFd file;  ///< For reading.
    };
    [[nodiscard]] std::vector<CacheCandidate> keepsakes(std::size_t most) const;

    /// The same of trees, which are files no more: entry `index`, written once more as one file
    /// without a name, beside where it lies. Nothing of another entry, of one that came from
    /// the cache, where somebody has changed it, where there is hardly room, or once
    /// `may_go_on` says no, which is asked at each block.
    [[nodiscard]] std::optional<CacheCandidate> spooled(
        std::size_t index, const std::function<bool()>& may_go_on) const;

    /// Nothing until the manifest is complete.
    [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
    /// Where entry `index` of the manifest is, absolute; "" for one in trouble. After finish().
    [[nodiscard]] std::string path(std::size_t index) const;
    /// What finds the libraries that are here, for LD_LIBRARY_PATH, each with a slash at its
    /// end: a directory, or one that $ORIGIN makes a program's own. After finish().
    [[nodiscard]] const std::vector<std::string>& library_paths() const {
        return library_paths_;
    }
    /// Of all that is here, files in trees and of lists, too. After finish().
    [[nodiscard]] std::size_t file_count() const;
    /// Of `optional` files, why they are not here: each one sentence.
    [[nodiscard]] const std::vector<Error>& warnings() const { return troubles_; }
    /// Of all file blocks. After finish().
    [[nodiscard]] std::string digest() const { return digest_of(leaves_); }
    /// Bytes of files that are held so far.
    [[nodiscard]] std::uint64_t bytes_held() const { return bytes_held_; }
    /// And how many there will be; 0 while that is not known. From any thread.
    [[nodiscard]] std::uint64_t bytes_expected() const { return bytes_expected_; }

  private:
    struct Place {
        std::unique_ptr<Target> target;  ///< Nothing for an entry in trouble.
        bool is_optional = false;
        bool is_temporary = false;
        bool is_library = false;
        bool is_of_program = false;
        bool is_for_all = false;
        std::vector<std::string> needed_paths{};
        bool is_outside = false;  ///< Of the list directory.
        bool is_filled = false;   ///< By fill(), whole.
        bool is_named = false;    ///< What came has its final name.
    };

    /// The target of entry `index`, which is at work now; of those that are many only this one
    /// has descriptors.
    Target* use(std::size_t index) const;
    [[nodiscard]] static bool is_closed_for_writing(const Place& place);
    [[nodiscard]] Result<Placing> gather_manifest(BlockIndex block, Bytes bytes);
    [[nodiscard]] Result<Placing> write_file_block(BlockIndex block,
                                                   Bytes bytes,
                                                   const Digest128& leaf);
    [[nodiscard]] Status compare_manifest(std::size_t begin, Bytes bytes) const;
    [[nodiscard]] Status take_manifest();
    [[nodiscard]] Status decide_all();
    [[nodiscard]] Status decide(std::size_t index, SinkOrder order);
    void weigh_programs(std::vector<SinkOrder>& orders) const;
    [[nodiscard]] Status check_needed_paths();
    void give_up_program(std::uint16_t spec);
    [[nodiscard]] Status link_libraries();
    [[nodiscard]] Status check_jobs_libraries(int directory, std::size_t library) const;
    [[nodiscard]] Status link_libraries_of(std::size_t program, std::size_t library);
    [[nodiscard]] Status check_nesting() const;
    [[nodiscard]] Status check_space();
    [[nodiscard]] Status begin_all();
    [[nodiscard]] Status tell_begun() const;
    [[nodiscard]] Status tell_named() const;
    [[nodiscard]] Status tell(std::vector<std::string> entries) const;
    [[nodiscard]] Status give_names();
    [[nodiscard]] Status list_files() const;
    [[nodiscard]] std::string list_mark(std::size_t index) const;
    [[nodiscard]] std::string entry_of(std::size_t index, const std::string& removal) const;
    /// Does `step` with every file; one that is optional may fail.
    [[nodiscard]] Status each(Status (Target::*step)());
    [[nodiscard]] Status give_up(std::size_t index, Error why);
    [[nodiscard]] Status end_one(std::size_t index, Error why);
    [[nodiscard]] Status fill_whole(std::size_t index,
                                    UniqueFd file,
                                    const Content& content,
                                    const Cached& cached);
    [[nodiscard]] Result<bool> fill_from(std::size_t index,
                                         UniqueFd file,
                                         const Digest128& sum,
                                         const std::function<Status()>& check);
    void hold(BlockIndex block, const BlockPlace& place, const Digest128& leaf);
    [[nodiscard]] Status take_up_noted(BlockIndex first,
                                       std::span<const Digest128> noted,
                                       const std::function<Status()>& check);
    void take_up_block(std::uint32_t number, const Digest128& leaf);
    [[nodiscard]] Status take_up_whole(std::size_t index,
                                       PriorCopy earlier,
                                       const std::function<bool()>& has_time,
                                       const Cached& cached);
    [[nodiscard]] Status take_up_part(std::size_t index,
                                      int part,
                                      const std::function<bool()>& has_time,
                                      const Cached& cached);
    [[nodiscard]] Status take_up_part_block(BlockIndex block, int part, const Digest128& leaf);
    void hold_nothing_of(const ManifestEntry& entry);
    /// Of block `number` of `entry`, which lies in `room`: its leaf as it is kept, where that
    /// is another, because zeros are behind the end of an index (ManifestEntry::kept_bytes()).
    [[nodiscard]] static std::optional<Digest128> leaf_as_kept(const ManifestEntry& entry,
                                                               std::uint32_t number,
                                                               std::size_t length,
                                                               MutableBytes room);
    [[nodiscard]] Digest128 sum_of_entry(const ManifestEntry& entry,
                                         const std::optional<Digest128>& index_end) const;

    SinkConfig config_;
    PageShares page_shares_;
    std::vector<std::byte> manifest_bytes_;  ///< Its length is known from block 0 on.
    std::vector<bool> manifest_held_;
    std::optional<Manifest> manifest_;
    /// By spec: directories of libraries that this sink made. (Emptied before they go.)
    std::map<std::uint16_t, std::shared_ptr<MadeDirectory>> made_;
    std::vector<Place> places_;         ///< By manifest entry.
    mutable std::size_t used_ = 0;      ///< The one used last.
    std::set<std::uint16_t> given_up_;  ///< Specs of programs.
    std::vector<std::string> library_paths_;
    std::set<std::string> paths_;  ///< Of all targets: no two have one.
    std::vector<Error> troubles_;
    std::optional<Error> failure_;  ///< It has ended all: targets may not have begun.
    std::uint32_t first_file_block_ = 0;
    std::vector<Digest128> leaves_;  ///< Of file blocks, from first_file_block_ on.
    std::vector<bool> held_;         ///< Likewise.
    std::size_t missing_ = 0;        ///< File blocks not held yet.
    std::vector<std::byte> room_;    ///< For a block that is looked at.
    std::uint64_t bytes_held_ = 0;
    std::uint64_t bytes_filled_ = 0;
    std::atomic<std::uint64_t> bytes_expected_{0};
};

}  // namespace stage
