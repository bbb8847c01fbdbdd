// Holds the targets of a stage's files, one for each entry of the manifest that comes to this
// node, and gives them up.
//
// The failure of a target ends the whole stage on this node. If the target is optional, it is
// only given up, with a warning. A program and its libraries are given up together. Of very
// many targets those after the first ones have descriptors only while they are in use.
#pragma once

#include "stager/files/target/target.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// What the request asks of one entry of the manifest on this node.
struct SinkOrder {
    TargetOrder target;
    bool is_optional = false;
    bool is_temporary = false;  ///< Removed with the stage directory, outside which it is.
    bool is_library = false;    ///< Lies in a directory that is made for a program's libraries.
    /// A program or its library: all entries of its spec come to this node, or none.
    bool is_of_program = false;
    bool is_for_all = false;  ///< A library, loaded by any program that loads the spec's file.
    std::string same_as{};    ///< The library of the spec that is the same file at the source.
    std::vector<std::string> needed_paths{};  ///< Must be on this node, or come to it.
    std::string where{};  ///< The line of the list that asks for it; empty: no list.
};

/// The state of one entry of the manifest.
struct SinkTarget {
    std::unique_ptr<Target> target{};  ///< Null if the entry does not come to this node.
    std::uint16_t spec = 0;
    bool is_optional = false;
    bool is_temporary = false;
    bool is_library = false;
    bool is_of_program = false;
    bool is_for_all = false;
    std::string same_as{};
    bool is_outside = false;  ///< Lies outside of the stage's own directory.
    bool is_named = false;    ///< The target has its final name.
    std::vector<std::string> needed_paths{};
    std::string where{};  ///< The value of SinkOrder::where.
};

class SinkTargets {
  public:
    /// Makes `count` entries, one for each of the manifest, without targets.
    void resize(std::size_t count) { entries_.resize(count); }
    /// Keeps how to treat the entry, which is of `spec`. `list_directory`: the stage's own.
    void set_order(std::size_t index,
                   const SinkOrder& order,
                   std::uint16_t spec,
                   const std::string& list_directory);
    /// Claims the path for one entry; false if another one has it already.
    [[nodiscard]] bool claim(const std::string& path) { return paths_.insert(path).second; }
    void put(std::size_t index, std::unique_ptr<Target> target);

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] const SinkTarget& operator[](std::size_t index) const {
        return entries_[index];
    }
    /// The paths that were claimed.
    [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }
    /// The entry's absolute path; "" for an entry without a target.
    [[nodiscard]] std::string path(std::size_t index) const;
    /// The number of files here, those in trees included. After settle().
    [[nodiscard]] std::size_t file_count() const;

    /// The entry's target, to work with; null if it has none. A target that was used before
    /// may close its descriptors.
    [[nodiscard]] Target* use(std::size_t index) const;
    /// Does `step` with every target; a target that fails is given up.
    [[nodiscard]] Status each(Status (Target::*step)());
    /// Gives all targets their final names; a target that fails is given up. Libraries come
    /// first: where a program has its name, its libraries are whole.
    [[nodiscard]] Status give_names();

    /// Gives up the entry for this node's reason; the list and line that ask for the entry are
    /// put before `why`. Returns the error if it ends the stage.
    [[nodiscard]] Status give_up(std::size_t index, Error why);
    /// Gives up the entry for the source's reason, which names list and line already.
    [[nodiscard]] Status end_entry(std::size_t index, Error why);
    /// True if the program of `spec` was given up with its libraries.
    [[nodiscard]] bool is_given_up(std::uint16_t spec) const {
        return given_up_.contains(spec);
    }

    /// Ends the stage on this node with an error.
    void fail(Error why) { failure_ = std::move(why); }
    /// The error that ended the stage; targets may not have begun then.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
    /// Tells why optional files are not here.
    [[nodiscard]] const std::vector<Error>& warnings() const { return warnings_; }

  private:
    void give_up_program(std::uint16_t spec);

    /// The directories of libraries that targets made, by spec. (Emptied before they go.)
    std::map<std::uint16_t, std::shared_ptr<MadeDirectory>> made_;
    std::vector<SinkTarget> entries_;   ///< Entries, by manifest entry.
    mutable std::size_t used_ = 0;      ///< The index of the entry used last.
    std::set<std::uint16_t> given_up_;  ///< Specs of programs.
    std::set<std::string> paths_;       ///< Paths, each of one target.
    std::vector<Error> warnings_;
    std::optional<Error> failure_;
};

}  // namespace stage
