// A Slurm that remembers what the plugin did to it.
#pragma once

#include "spank/spank_handle.h"

#include <map>

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
    std::string directory = "/";
    std::optional<ClusterFacts> facts =
        ClusterFacts{.name = "lab", .prolog_at_allocation = true};
    mutable int facts_asked = 0;
    std::vector<std::string> errors;
    std::vector<std::string> notices;
    std::vector<std::string> in_task;
    std::string client_name = "sbatch";

  private:
    template <class Key, class Value>
    static std::optional<Value> find(const std::map<Key, Value>& map, const Key& key) {
        const auto found = map.find(key);
        return found == map.end() ? std::nullopt : std::optional<Value>{found->second};
    }

    Context context_;
};

}  // namespace stage
