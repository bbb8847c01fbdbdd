// A Slurm that remembers what the plugin did to it.
#pragma once

#include "spank/host/spank_handle.h"

#include <getopt.h>

#include <array>
#include <map>
#include <span>

namespace stage {

class FakeHost final : public SpankHandle {
  public:
    explicit FakeHost(Context context) : context_{context} {}

    [[nodiscard]] Context context() const override { return context_; }
    [[nodiscard]] std::optional<std::uint32_t> item(Item item) const override {
        return find(items, item);
    }
    [[nodiscard]] std::optional<std::string> job_variable(const char* name) const override {
        return find(job, std::string{name});
    }
    void set_job_variable(const char* name, const std::string& value) override {
        job[name] = value;
    }
    void unset_job_variable(const char* name) override { job.erase(name); }
    [[nodiscard]] std::optional<std::string> variable(const char* name) const override {
        return find(process, std::string{name});
    }
    void set_variable(const char* name, const std::string& value) override {
        process[name] = value;
    }
    void unset_variable(const char* name) override { process.erase(name); }
    [[nodiscard]] bool hand_to_prolog(const char* name, const std::string& value) override {
        handed[name] = value;
        return true;
    }
    [[nodiscard]] std::string client() const override { return client_name; }
    [[nodiscard]] std::vector<std::string> command_line() const override { return arguments; }
    [[nodiscard]] std::size_t options_end() const override {
        return parsed_to(std::span{arguments}.subspan(component_at));
    }
    [[nodiscard]] std::string working_directory() const override { return directory; }
    [[nodiscard]] std::optional<ClusterFacts> cluster_facts() const override {
        ++facts_asked;
        return facts;
    }
    void say_error(const std::string& sentence) override { errors.push_back(sentence); }
    void say(const std::string& sentence) override { notices.push_back(sentence); }

    void say_in_task(const std::string& sentence) override { in_task.push_back(sentence); }

    std::map<Item, std::uint32_t> items;
    std::map<std::string, std::string> job;
    std::map<std::string, std::string> process;
    std::map<std::string, std::string> handed;
    std::vector<std::string> arguments;
    std::size_t component_at = 0;  ///< The first of its words among the arguments.
    std::string directory = "/";
    std::optional<ClusterFacts> facts =
        ClusterFacts{.name = "lab", .prolog_at_allocation = true};
    mutable int facts_asked = 0;
    std::vector<std::string> errors;
    std::vector<std::string> notices;
    std::vector<std::string> in_task;
    std::string client_name = "sbatch";

  private:
    /// Parses as Slurm's clients do, with some of their options.
    static std::size_t parsed_to(std::span<const std::string> words) {
        static constexpr std::array<option, 14> kLong{{{"jobid", 1, nullptr, 'j'},
                                                       {"clusters", 1, nullptr, 'M'},
                                                       {"cluster", 1, nullptr, 'M'},
                                                       {"nodes", 1, nullptr, 'N'},
                                                       {"container", 1, nullptr, 'c'},
                                                       {"container-image", 1, nullptr, 'i'},
                                                       {"interactive", 0, nullptr, 'a'},
                                                       {"preserve-env", 0, nullptr, 'e'},
                                                       {"pty", 2, nullptr, 'p'},
                                                       {"overlap", 0, nullptr, 'o'},
                                                       {"hold", 0, nullptr, 'H'},
                                                       {"unbuffered", 0, nullptr, 'u'},
                                                       {"chdir", 1, nullptr, 'D'},
                                                       {nullptr, 0, nullptr, 0}}};
        std::vector<std::string> copies{"client"};
        copies.insert(copies.end(), words.begin(), words.end());
        std::vector<char*> pointers;
        for (std::string& word : copies) {
            pointers.push_back(word.data());
        }
        const auto count = static_cast<int>(pointers.size());
        pointers.push_back(nullptr);
        ::optind = 0;
        ::opterr = 0;
        constexpr const char* kShort = "+N:n:M:J:D:w:luHXQv";
        // NOLINTNEXTLINE(concurrency-mt-unsafe): a test has one thread
        while (::getopt_long(count, pointers.data(), kShort, kLong.data(), nullptr) != -1) {
        }
        return static_cast<std::size_t>(::optind);
    }

    template <class Key, class Value>
    static std::optional<Value> find(const std::map<Key, Value>& map, const Key& key) {
        const auto found = map.find(key);
        return found == map.end() ? std::nullopt : std::optional<Value>{found->second};
    }

    Context context_;
};

}  // namespace stage
