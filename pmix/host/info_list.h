// How are facts handed to PMIx?
//
// As an array of pmix_info_t that PMIx' own macros fill and free. This owns one.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>

namespace stage::pmix_host {

class InfoList {
  public:
    /// Room for `count` facts, at least one.
    explicit InfoList(std::size_t count);
    InfoList(const InfoList&) = delete;
    InfoList& operator=(const InfoList&) = delete;
    ~InfoList();

    InfoList& add(const char* key, std::uint32_t number);
    InfoList& add_size(const char* key, std::size_t number);
    InfoList& add_rank(const char* key, pmix_rank_t rank);
    InfoList& add_flag(const char* key, bool flag);
    /// An array of this one process; a rank of PMIX_RANK_WILDCARD is its whole namespace.
    InfoList& add_process(const char* key, const pmix_proc_t& process);
    InfoList& add(const char* key, const std::string& text);
    /// What PMIx_generate_regex() and PMIx_generate_ppn() make; it is copied.
    InfoList& add_regex(const char* key, const char* regex);

    [[nodiscard]] pmix_info_t* data() { return infos_; }
    [[nodiscard]] std::size_t size() const { return used_; }

  private:
    void load(const char* key, const void* value, pmix_data_type_t type);

    pmix_info_t* infos_ = nullptr;
    std::size_t room_;
    std::size_t used_ = 0;
};

}  // namespace stage::pmix_host
