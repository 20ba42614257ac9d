// A manifest as text. What the parser accepts must keep the promises that readers rely on.

#include "container/manifest.h"
#include "container/tensor_inventory.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    const auto manifest = Manifest::parse({reinterpret_cast<const char*>(data), size});
    if (!manifest) {
        if (manifest.error().message.empty())
            std::abort();
        return 0;
    }
    const auto promise = [](bool kept) {
        if (!kept)
            std::abort();
    };
    for (const TensorSpec& spec : requiredTensors(manifest->config)) {
        const TrunkEntry* entry = manifest->find(spec.name);
        promise(spec.optional || entry != nullptr);
        promise(entry == nullptr || (entry->format && spec.accepts(entry->shape)));
        promise(entry == nullptr || entry->layout.bytes() > 0);
    }
    promise(manifest->banks.size() == manifest->config.moeLayerCount());
    for (const BankEntry& bank : manifest->banks) {
        promise(manifest->config.isMoe(bank.layer));
        promise(bank.bytes == manifest->geometry.strideBytes * bank.expertCount);
        promise(bank.file.find_first_of("/\\:") == std::string::npos);
    }
    return 0;
}
