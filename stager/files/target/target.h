// The interface of the destination of one manifest entry on this node's disk.
//
// It is a file (target_file.h), a directory tree (target_tree.h) or an unpacked archive
// (target_archive.h), which appears completely or not at all. Its steps are: decide, begin
// under a temporary name, write in any order, settle, and appear under its name.
#pragma once

#include "stager/disk/page_room.h"
#include "stager/files/source/source_item.h"
#include "stager/files/target/target_directory.h"
#include "stager/spec/stage_spec.h"
#include "stager/spec/umask.h"
#include "transport/run/object/sink.h"

#include <sys/types.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// A secret that the members of a group have in common.
using NameSecret = std::array<std::byte, 32>;
/// Derives the secret of a group's temporary names from its key, of which they tell nothing.
[[nodiscard]] NameSecret name_secret(Bytes group_key);

/// Identifies the writer; temporary names contain it.
struct Writer {
    std::string job;  ///< "42", "42.3"; only characters that a file name may contain.
    std::uint32_t rank = 0;
    std::uint32_t group_size = 1;
    NameSecret secret{};  ///< Zeros where the group has no key yet, or none.
};

/// Describes what to do with one entry.
struct TargetOrder {
    TargetPlace place;
    Existing existing = Existing::overwrite;
    bool is_newer = false;  ///< With `newer`: the existing file was found to be older.
    bool is_durable = false;
    /// Keep owners, ACLs and set-id bits as far as this process may. Otherwise all files are
    /// root's own, and a file with set-id bits is refused.
    bool keeps_owners = true;
    std::optional<FileIdentity> source;        ///< On the source's own node: the sent file.
    std::vector<FileIdentity> above_source{};  ///< The directories above the sent file.
    bool is_resumable = false;  ///< A partial file is used, and kept after an interruption.
    /// How long to wait for another process that holds the lock and may be about to exit.
    std::chrono::milliseconds lock_timeout{0};
    bool is_noted = false;  ///< Keep a note of the received blocks (partial.h).
    std::string archive{};  ///< The name of the archive to unpack here; empty: none.
    std::uint16_t umask = kUsualUmask;  ///< For unpacked files.
    bool skips_devices = false;         ///< An archive's devices and pipes are left out.
    /// The number of its first bytes that may stay in memory; others are dropped once on the
    /// disk.
    std::uint64_t page_room = kAllPages;
};

/// The space that begin() will take on device(); nothing if nothing is written.
struct TargetNeeds {
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;
};

/// Returns ".NAME.stagecast.JOB.RANK", by hidden_name(). Where other users may make files, a
/// hash of the name and the group's secret takes its place: a user who saw NAME there could
/// make a file of that name before this one appears.
[[nodiscard]] std::string temporary_name(const TargetDirectory& directory,
                                         const std::string& name,
                                         const Writer& writer,
                                         std::uint32_t rank);

/// True if `directory` has a file of that temporary name and owner whose writer is alive: it
/// holds the lock.
[[nodiscard]] bool is_at_work(int directory, const std::string& temporary, uid_t owner);
/// The error for a `path` to which other members of the group write, too.
[[nodiscard]] Error shared_error(const std::string& path);
/// Fails if a neighbour of the group is found at work on `name` in a directory that should be
/// this node's own. The last member to arrive finds its neighbour's temporary name, in any
/// order of arrival. `own` is the file that this member has made there; a file of another owner
/// is not a neighbour's.
[[nodiscard]] Status check_alone(const TargetDirectory& directory,
                                 int own,
                                 const std::string& name,
                                 const Writer& writer,
                                 const std::string& path);

/// An existing entry that stays must be what the job expects there, of `kind` (S_IFREG or
/// S_IFDIR), or a link that leads to it: not a pipe, nor a link that leads nowhere.
[[nodiscard]] Status check_kept(int directory,
                                const std::string& name,
                                const std::string& path,
                                mode_t kind);

class Target {
  public:
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    Target& operator=(Target&&) = delete;
    virtual ~Target() = default;

    [[nodiscard]] virtual TargetNeeds needs() const = 0;
    [[nodiscard]] virtual const TargetDirectory& directory() const = 0;
    /// The final path.
    [[nodiscard]] virtual std::string path() const = 0;
    /// The path until it appears.
    [[nodiscard]] virtual std::string temporary_path() const = 0;
    /// True if the existing file stays, and nothing is written.
    [[nodiscard]] virtual bool is_left() const = 0;
    /// A descriptor of the received file, once begun; -1: there is none. After settle() it is
    /// read-only.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// True if the result is a directory with its content.
    [[nodiscard]] virtual bool is_directory() const { return false; }

    /// The number of its files on this node, including links. Requires settle().
    [[nodiscard]] virtual std::size_t file_count() const { return 1; }

    /// Opens the bytes for reading, as one file: before begin() those of a plain file at the
    /// destination, afterwards those that were written. Empty if there are none.
    [[nodiscard]] virtual UniqueFd reading() const { return {}; }
    /// True if the existing file is compared with the received bytes.
    [[nodiscard]] virtual bool is_compared() const { return false; }
    /// Clones all of `file` at once. Returns false if this disk cannot.
    [[nodiscard]] virtual bool clone(int /*file*/) { return false; }

    /// True if it uses its bytes as they arrive. A cached copy is then compared first, and
    /// adopted as a whole.
    [[nodiscard]] virtual bool is_adopting() const { return false; }
    /// Adopts `file`, which is open for reading and has all bytes; none was written before.
    /// Requires is_adopting().
    virtual void adopt(UniqueFd /*file*/) {}

    /// True for a plain file that is kept after an interruption, as far as it was received.
    [[nodiscard]] virtual bool is_kept() const { return false; }
    /// True for a file that is removed then, but whose received bytes reading() returns until
    /// settle().
    [[nodiscard]] virtual bool is_noted() const { return false; }
    /// The leaf digests that an earlier attempt noted, by block; zeros, or nothing, for unknown
    /// blocks. Requires begin(). The bytes may have changed since.
    [[nodiscard]] virtual std::vector<Digest128> noted() const { return {}; }
    /// Records that the block at `offset` was written, with its leaf digest.
    virtual void note(std::uint64_t /*offset*/, const Digest128& /*leaf*/) {}

    /// Closes its descriptors, for one of very many targets that is not in use. The next
    /// operation, other than needs() and descriptor(), opens them again.
    virtual void rest() {}
    /// Opens them again for descriptor().
    [[nodiscard]] virtual Status wake() const { return {}; }

    /// Makes the temporary file or directory.
    [[nodiscard]] virtual Status begin() = 0;
    /// `offset`: BlockPlace::offset.
    [[nodiscard]] virtual Result<Placing> write(std::uint64_t offset, Bytes bytes) = 0;
    [[nodiscard]] virtual Status read_back(std::uint64_t offset, MutableBytes room) = 0;
    /// Called when every byte is there: sets owner, mode and times, and with `durable` syncs to
    /// the disk. No descriptor that can write to the file stays open here, since the kernel
    /// would refuse to execute the file (execve(2), ETXTBSY).
    [[nodiscard]] virtual Status settle() = 0;
    /// Gives it the final name. Requires settle().
    [[nodiscard]] virtual Status appear() = 0;

  protected:
    Target() = default;
    Target(Target&&) = default;
};

}  // namespace stage
