#include "convert/vq_recipe.h"

namespace waste {

using kernels::BeamWidth;

VqRecipe recipeOf(ConvertQuality quality, ExpertFormat format)
{
    switch (quality) {
    case ConvertQuality::Fast:
        return {"fast", BeamWidth::Eight, 4, 100'000};
    case ConvertQuality::Best:
        // Among 256 entries a stage, a width of 64 gains a tenth of a point and takes three times as long.
        return {"best", format == ExpertFormat::Vq4p ? BeamWidth::SixtyFour : BeamWidth::ThirtyTwo, 20, 300'000};
    case ConvertQuality::Default:
        break;
    }
    return {"default", BeamWidth::Sixteen, 10, 150'000};
}

} // namespace waste
