// What becomes of one entry of a manifest on this node's disk?
//
// A file (target_file.h), a directory tree (target_tree.h) or what an archive unpacks to
// (target_archive.h), whole or absent: decided upon, begun under a temporary name, written in
// any order, settled, and then under its name.
#pragma once

#include "stager/disk/page_room.h"
#include "stager/files/source/source_item.h"
#include "stager/files/target/target_directory.h"
#include "stager/spec/stage_spec.h"
#include "stager/spec/umask.h"
#include "transport/run/object/sink.h"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// Who writes: the temporary names are made of it.
struct Writer {
    std::string job;  ///< "42", "42.3"; of what may stand in a file's name.
    std::uint32_t rank = 0;
    std::uint32_t group_size = 1;
};

/// What is wanted of one entry.
struct TargetOrder {
    TargetPlace place;
    Existing existing = Existing::overwrite;
    bool is_newer = false;  ///< With `newer`: what stands there has been found to be older.
    bool is_durable = false;
    /// Owners, ACLs and set-id bits are kept, as far as this process may; else all of it is
    /// root's own, and a file with set-id bits is refused.
    bool keeps_owners = true;
    std::optional<FileIdentity> source;        ///< On the source's own node: what is sent.
    std::vector<FileIdentity> above_source{};  ///< And the directories that it lies in.
    bool is_resumable = false;  ///< What came of it before may be here, and what comes stays.
    /// Who was at work on it may just be going: so long it is waited for.
    std::chrono::milliseconds lock_timeout{0};
    bool is_noted = false;  ///< What comes of it is noted while it grows (partial.h).
    std::string archive{};  ///< What is to be unpacked here, by its name; empty: nothing.
    std::uint16_t umask = kUsualUmask;  ///< What is unpacked is made with it.
    /// How many of its first bytes may stay in memory; the others are let go once on the disk.
    std::uint64_t page_room = kAllPages;
};

/// What begin() will take of device(); nothing where nothing is written.
struct TargetNeeds {
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;
};

/// ".NAME.stagecast.JOB.RANK", as hidden_name() has it.
[[nodiscard]] std::string temporary_name(const std::string& name,
                                         const Writer& writer,
                                         std::uint32_t rank);

/// `directory` has a file of that temporary name and this owner whose writer lives: it holds
/// the lock.
[[nodiscard]] bool is_at_work(int directory, const std::string& temporary, uid_t owner);
/// `path` lies where other members of the group write, too.
[[nodiscard]] Error shared_error(const std::string& path);
/// Fails if a neighbour of the group is seen at work on `name` in a directory that should be
/// this node's own. The last of the group to come here sees its neighbour's temporary name in
/// any order of arrival. `own`: open, what this member has made there; what has another owner
/// is no neighbour's.
[[nodiscard]] Status check_alone(int directory,
                                 int own,
                                 const std::string& name,
                                 const Writer& writer,
                                 const std::string& path);

class Target {
  public:
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    Target& operator=(Target&&) = delete;
    virtual ~Target() = default;

    [[nodiscard]] virtual TargetNeeds needs() const = 0;
    [[nodiscard]] virtual const TargetDirectory& directory() const = 0;
    /// The final one.
    [[nodiscard]] virtual std::string path() const = 0;
    /// Where it is until then.
    [[nodiscard]] virtual std::string temporary_path() const = 0;
    /// What was there before stays; nothing of ours comes there.
    [[nodiscard]] virtual bool is_left() const = 0;
    /// Of what came, once begun; -1: of nothing. From settle() on it can't write.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// What comes is a directory with all that is in it.
    [[nodiscard]] virtual bool is_directory() const { return false; }

    /// Files of it here, links among them. After settle().
    [[nodiscard]] virtual std::size_t file_count() const { return 1; }

    /// The bytes that came, as one file, for reading: of a plain file what stands at its place
    /// before begin(), what was written after. Nothing where there is none.
    [[nodiscard]] virtual UniqueFd reading() const { return {}; }
    /// What stands here is compared with what comes.
    [[nodiscard]] virtual bool is_compared() const { return false; }
    /// Takes all of `file` over at once, without copying. False: this disk can't.
    [[nodiscard]] virtual bool clone(int /*file*/) { return false; }

    /// It uses its bytes while they come. What was kept of them before is compared first, and
    /// then adopted whole.
    [[nodiscard]] virtual bool is_adopting() const { return false; }
    /// `file`, for reading, has all bytes; none was written. Requires is_adopting().
    virtual void adopt(UniqueFd /*file*/) {}

    /// A plain file that stays, as far as it came, if it is broken off.
    [[nodiscard]] virtual bool is_kept() const { return false; }
    /// One that goes then, but reading() tells until settle() what had come.
    [[nodiscard]] virtual bool is_noted() const { return false; }
    /// What an earlier time noted of it, by block; nothing, or zeros where it noted nothing.
    /// After begin(). The bytes may be others by now.
    [[nodiscard]] virtual std::vector<Digest128> noted() const { return {}; }
    /// The block at `offset` was written: its leaf.
    virtual void note(std::uint64_t /*offset*/, const Digest128& /*leaf*/) {}

    /// One of very many, and not the one that is at work: closes what it has open. What is
    /// asked of it next opens that again, but needs() and descriptor().
    virtual void rest() {}
    /// For descriptor().
    [[nodiscard]] virtual Status wake() const { return {}; }

    /// Makes what is temporary.
    [[nodiscard]] virtual Status begin() = 0;
    /// `offset`: BlockPlace::offset.
    [[nodiscard]] virtual Result<Placing> write(std::uint64_t offset, Bytes bytes) = 0;
    [[nodiscard]] virtual Status read_back(std::uint64_t offset, MutableBytes room) = 0;
    /// Every byte is there: owner, mode, times; `durable`: on the disk. No descriptor that can
    /// write a file of it stays open here: while one is, the kernel refuses to execute the
    /// file (execve(2), ETXTBSY).
    [[nodiscard]] virtual Status settle() = 0;
    /// The final name. Requires settle().
    [[nodiscard]] virtual Status appear() = 0;

  protected:
    Target() = default;
    Target(Target&&) = default;
};

}  // namespace stage
