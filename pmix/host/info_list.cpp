#include "pmix/host/info_list.h"

#include "transport/base/invariant.h"

#include <pmix.h>

namespace stage::pmix_host {

// PMIx' macros exceed the linter's nesting limit.
// NOLINTNEXTLINE(readability-function-size)
InfoList::InfoList(std::size_t count) : room_{count} {
    PMIX_INFO_CREATE(infos_, count);
    invariant(infos_ != nullptr, "memory for a few facts is to be had");
}

// NOLINTNEXTLINE(readability-function-size)
InfoList::~InfoList() {
    PMIX_INFO_FREE(infos_, room_);
}

void InfoList::load(const char* key, const void* value, pmix_data_type_t type) {
    invariant(used_ < room_, "a list of facts has room for all of them");
    PMIX_INFO_LOAD(&infos_[used_], key, value, type);
    ++used_;
}

InfoList& InfoList::add(const char* key, std::uint32_t number) {
    load(key, &number, PMIX_UINT32);
    return *this;
}

InfoList& InfoList::add_size(const char* key, std::size_t number) {
    load(key, &number, PMIX_SIZE);
    return *this;
}

InfoList& InfoList::add_rank(const char* key, pmix_rank_t rank) {
    load(key, &rank, PMIX_PROC_RANK);
    return *this;
}

InfoList& InfoList::add_flag(const char* key, bool flag) {
    load(key, &flag, PMIX_BOOL);
    return *this;
}

InfoList& InfoList::add_process(const char* key, const pmix_proc_t& process) {
    pmix_proc_t copy = process;  // load() copies the array.
    pmix_data_array_t array{};
    array.type = PMIX_PROC;
    array.size = 1;
    array.array = &copy;
    load(key, &array, PMIX_DATA_ARRAY);
    return *this;
}

InfoList& InfoList::add(const char* key, const std::string& text) {
    load(key, text.c_str(), PMIX_STRING);
    return *this;
}

InfoList& InfoList::add_regex(const char* key, const char* regex) {
    load(key, regex, PMIX_REGEX);
    return *this;
}

}  // namespace stage::pmix_host
