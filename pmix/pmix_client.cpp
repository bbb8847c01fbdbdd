#include "pmix/pmix_client.h"

#include <pmix.h>

#include <cstring>

namespace stage {
namespace {

/// One key carries the whole card: 10,000 Puts of one rank make PMIx 4.2 lose data.
constexpr const char* kCardKey = "stagecast.card";

Error pmix_error(const std::string& doing, pmix_status_t status) {
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_LOST_PEER_CONNECTION ||
        status == PMIX_ERR_COMM_FAILURE) {
        return {Blame::node, doing + ": another member of the job is lost"};
    }
    return {Blame::node, doing + ": PMIx: " + PMIx_Error_string(status)};
}

pmix_proc_t proc_of(const std::string& name_space, pmix_rank_t rank) {
    pmix_proc_t proc{};
    std::memcpy(proc.nspace, name_space.data(), name_space.size());
    proc.rank = rank;
    return proc;
}

/// Owns a value that PMIx allocated.
class Value {
  public:
    Value() = default;
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
    ~Value() {
        if (value_ != nullptr) {
            PMIX_VALUE_RELEASE(value_);
        }
    }
    [[nodiscard]] pmix_value_t** room() { return &value_; }
    [[nodiscard]] const pmix_value_t* get() const { return value_; }

  private:
    pmix_value_t* value_ = nullptr;
};

class OneInfo {
  public:
    explicit OneInfo(const char* key) {
        bool yes = true;
        PMIX_INFO_CONSTRUCT(&info_);
        PMIX_INFO_LOAD(&info_, key, &yes, PMIX_BOOL);
    }
    OneInfo(const OneInfo&) = delete;
    OneInfo& operator=(const OneInfo&) = delete;
    ~OneInfo() { PMIX_INFO_DESTRUCT(&info_); }
    [[nodiscard]] pmix_info_t* get() { return &info_; }

  private:
    pmix_info_t info_{};
};

/// Frees `results`, those of a success. PMIx' macros nest deeply.
// NOLINTNEXTLINE(readability-function-size)
std::optional<std::uint64_t> take_context_id(pmix_info_t* results, std::size_t count) {
    std::optional<std::uint64_t> context;
    for (std::size_t i = 0; results != nullptr && i < count; ++i) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID) &&
            results[i].value.type == PMIX_SIZE) {
            context = results[i].value.data.size;
        }
    }
    if (results != nullptr) {
        PMIX_INFO_FREE(results, count);
    }
    return context;
}

}  // namespace

Status PmixClient::start() {
    pmix_proc_t self{};
    at_ = "PMIx_Init";
    pmix_status_t status = PMIx_Init(&self, nullptr, 0);
    if (status != PMIX_SUCCESS) {
        return pmix_error("joining the job", status);
    }
    name_space_.assign(self.nspace, ::strnlen(self.nspace, sizeof(self.nspace) - 1));
    rank_ = self.rank;
    const pmix_proc_t all = proc_of(name_space_, PMIX_RANK_WILDCARD);
    Value value;
    status = PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, value.room());
    if (status != PMIX_SUCCESS || value.get() == nullptr || value.get()->type != PMIX_UINT32) {
        return pmix_error("asking for the size of the job", status);
    }
    size_ = value.get()->data.uint32;
    return {};
}

Result<std::vector<std::vector<std::byte>>> PmixClient::exchange(Bytes own, std::size_t limit) {
    std::vector<char> bytes(own.size());
    std::memcpy(bytes.data(), own.data(), own.size());
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes.data();
    value.data.bo.size = bytes.size();
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, kCardKey, &value);
    if (status == PMIX_SUCCESS) {
        status = PMIx_Commit();
    }
    if (status != PMIX_SUCCESS) {
        return pmix_error("publishing the own card", status);
    }
    at_ = "PMIx_Fence";
    OneInfo collect{PMIX_COLLECT_DATA};
    const pmix_proc_t all = proc_of(name_space_, PMIX_RANK_WILDCARD);
    status = PMIx_Fence(&all, 1, collect.get(), 1);
    if (status != PMIX_SUCCESS) {
        return pmix_error("exchanging cards", status);
    }
    std::vector<std::vector<std::byte>> cards;
    cards.reserve(size_);
    at_ = "PMIx_Get";
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        TRY(auto card, fetch(rank, limit));
        cards.push_back(std::move(card));
    }
    return cards;
}

Result<std::vector<std::byte>> PmixClient::fetch(std::uint32_t rank, std::size_t limit) const {
    const pmix_proc_t peer = proc_of(name_space_, rank);
    // The server may still fetch from the member's own server: Slurm's tree
    // (SLURM_PMIX_FENCE=tree, or no direct connections) does not distribute the data with the
    // fence.
    Value value;
    const pmix_status_t status = PMIx_Get(&peer, kCardKey, nullptr, 0, value.room());
    if (status != PMIX_SUCCESS || value.get() == nullptr) {
        return pmix_error("reading the card of rank " + std::to_string(rank), status);
    }
    if (value.get()->type != PMIX_BYTE_OBJECT || value.get()->data.bo.size > limit) {
        return Error{Blame::internal, "the card of rank " + std::to_string(rank) + " is none"};
    }
    const pmix_byte_object_t& object = value.get()->data.bo;
    const auto* first = reinterpret_cast<const std::byte*>(object.bytes);
    return std::vector<std::byte>(first, first + object.size);
}

Result<std::optional<std::uint64_t>> PmixClient::construct_group() {
    const pmix_proc_t all = proc_of(name_space_, PMIX_RANK_WILDCARD);
    // A group's id is unique within the server, not within the namespace.
    const std::string id = name_space_ + ".group";
    OneInfo assign{PMIX_GROUP_ASSIGN_CONTEXT_ID};
    at_ = "PMIx_Group_construct";
    pmix_info_t* results = nullptr;
    std::size_t count = 0;
    const pmix_status_t status =
        PMIx_Group_construct(id.c_str(), &all, 1, assign.get(), 1, &results, &count);
    // Where there are no groups, PMIx leaves garbage in results.
    if (status == PMIX_ERR_NOT_SUPPORTED) {
        return std::optional<std::uint64_t>{};
    }
    if (status != PMIX_SUCCESS) {
        return pmix_error("constructing the group", status);
    }
    return take_context_id(results, count);
}

void PmixClient::finish() {
    at_ = "PMIx_Finalize";
    static_cast<void>(PMIx_Finalize(nullptr, 0));
}

}  // namespace stage
