"""torchvision's ResNet-18, and its form for DP-SGD. Importing torchvision takes a second or two."""

from opacus.validators import ModuleValidator
from torchvision.models import ResNet, resnet18
from torchvision.models.resnet import BasicBlock


class OutOfPlaceBlock(BasicBlock):
    """The residual block without ``+=``: it changes what Opacus' hooks hold, and is refused."""

    def forward(self, x):
        """Like BasicBlock's, but for the sum."""
        inner = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(inner + (x if self.downsample is None else self.downsample(x)))


def plain_resnet18():
    """ResNet-18 for ten classes (He et al. 2016)."""
    return resnet18(num_classes=10)


def private_resnet18():
    """The same with GroupNorm in place of BatchNorm, by Opacus' ModuleValidator."""
    return ModuleValidator.fix(ResNet(OutOfPlaceBlock, [2, 2, 2, 2], num_classes=10))
