// The first byte chooses the file: plan, state, ledger, or a header that is kept.

#include "convert/download_records.h"
#include "convert/kept_header.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0]) {
    case 'p': {
        const auto plan = waste::parseDownloadPlan(text, "fuzz");
        if (plan && plan->identity.size() != 16)
            __builtin_trap();
        break;
    }
    case 's': {
        waste::DownloadPlan plan;
        plan.files["a.safetensors"] = {.index = 0, .bytes = 9, .sha256 = {}, .isShard = true};
        plan.files["b.json"] = {.index = 7, .bytes = 9, .sha256 = {}, .isShard = false};
        const auto verified = waste::parseDownloadState(text, plan);
        for (const auto& [name, facts] : verified.value_or(waste::VerifiedFiles())) {
            if (!plan.files.contains(name))
                __builtin_trap();
        }
        break;
    }
    case 'l': {
        for (const std::string& name : waste::parseLedger(text).names) {
            if (name.empty() || name.find_first_of("\t\n") != std::string::npos)
                __builtin_trap();
        }
        break;
    }
    case 'h': {
        const auto header = waste::parseKeptHeader(text);
        if (header && waste::parseKeptHeader(waste::keptHeaderText(*header))->json != header->json)
            __builtin_trap();
        break;
    }
    default:
        break;
    }
    return 0;
}
